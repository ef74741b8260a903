#include "incidents.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A label that consists of escapes takes six bytes for each of its bytes. */
enum { MAX_LINE_BYTES = 2048 };
enum { MAX_TEXT_BYTES = (MAX_NAMED + 2) * MAX_LINE_BYTES };

/* Static, because nothing may fail here for lack of memory. Unused pages cost nothing. */
static const struct setting *of_run;
static char text[MAX_TEXT_BYTES];
static size_t text_bytes;
static int kills;
static bool began;
static struct timespec began_at;

/* One line as it grows; `bytes` is more than there is room for when it does not fit. */
struct line {
	char text[MAX_LINE_BYTES];
	size_t bytes;
};

__attribute__((format(printf, 2, 3))) static void add(struct line *line, const char *format, ...)
{
	if (line->bytes >= sizeof line->text)
		return;
	va_list values;
	va_start(values, format);
	int length = vsnprintf(line->text + line->bytes, sizeof line->text - line->bytes, format, values);
	va_end(values);
	line->bytes += length < 0 ? sizeof line->text : (size_t)length;
}

static void add_text(struct line *line, const char *value)
{
	for (; *value != '\0'; value++) {
		unsigned char byte = (unsigned char)*value;
		if (byte < 0x20 || byte == '"' || byte == '\\')
			add(line, "\\u%04x", byte);
		else
			add(line, "%c", byte);
	}
}

static void begin_line(struct line *line, const char *type)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	line->bytes = 0;
	add(line, "{\"type\":\"protection.%s\",\"wallMs\":%lld,\"protection\":\"guard\",\"ofRun\":\"%s\"", type,
		(long long)now.tv_sec * 1000 + now.tv_nsec / 1000000, of_run->run_id);
}

static void end_line(struct line *line)
{
	add(line, "}\n");
	if (line->bytes >= sizeof line->text || line->bytes > sizeof text - text_bytes)
		return;
	memcpy(text + text_bytes, line->text, line->bytes);
	text_bytes += line->bytes;
}

static void add_process(struct line *line, const struct process *process)
{
	add(line, "\"pid\":%d,\"startTime\":\"%llu\"", (int)process->pid, process->start);
}

void open_incidents(const struct setting *setting)
{
	of_run = setting;
}

void record_host_death(void)
{
	if (began)
		return;
	began = true;
	clock_gettime(CLOCK_MONOTONIC, &began_at);
	struct line line;
	begin_line(&line, "host_death_detected");
	add(&line, ",\"pid\":%d", (int)getpid());
	end_line(&line);
}

bool host_death_is_recorded(void)
{
	return began;
}

void record_kill(const struct step *step, const char *label)
{
	kills++;
	if (kills > MAX_NAMED)
		return;
	struct line line;
	begin_line(&line, "process_killed");
	add(&line, ",");
	add_process(&line, step->process);
	if (label != NULL) {
		add(&line, ",\"incarnation\":\"");
		add_text(&line, label);
		add(&line, "\"");
	}
	for (int i = 0; i < LEVELS && step->below[i] != NULL; i++) {
		add(&line, i == 0 ? ",\"below\":[{" : "},{");
		add_process(&line, step->below[i]);
	}
	if (step->below[0] != NULL)
		add(&line, "}]");
	add(&line, ",\"foundBy\":\"descent\",\"signal\":\"SIGKILL\"");
	end_line(&line);
}

int count_kills(void)
{
	return kills;
}

void record_settled(void)
{
	if (!began)
		return;
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	long long us = (long long)(now.tv_sec - began_at.tv_sec) * 1000000 +
		(now.tv_nsec - began_at.tv_nsec) / 1000;
	struct line line;
	begin_line(&line, "run_settled");
	add(&line, ",\"killed\":%d,\"durationMs\":%lld.%03lld", kills, us / 1000, us % 1000);
	end_line(&line);
	write_incidents();
}

void write_incidents(void)
{
	if (!began)
		return;
	size_t length = text_bytes;
	text_bytes = 0;
	/* A pipe would block, and with it the killing; a link could lead anywhere. */
	int file = open(of_run->incidents,
		O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600);
	if (file < 0)
		return;
	struct stat seen;
	/* In one write, so that lines of several guards do not mix. If the disk is full they are lost:
	 * killing matters more. */
	ssize_t written = fstat(file, &seen) == 0 && S_ISREG(seen.st_mode) ? write(file, text, length) : 0;
	(void)written;
	close(file);
}
