#ifndef RUN_H
#define RUN_H

/* `run [--grace TIME] [--with-stdin] [--verbose] -- COMMAND ARGS...`: runs a command that leaves nothing behind.
 *
 *     parent - front - supervisor - command
 *                 \- signal watcher
 *
 * The front is the process that the parent started. It stays in the group that the parent chose, takes its signals, and
 * ends as the command ends. The supervisor starts the command in that group and session, leaves both, and ends whatever
 * descends from the command. Both are subreapers: each kills everything when the other one is lost. The kernel kills the
 * command with the supervisor. The signal watcher is in the front's group: a signal that the whole group got is not
 * forwarded to the command, which got it, too.
 *
 * `request` parses the arguments. `run` is the front and the signal watcher. `supervisor` starts and ends the command; its
 * header has what front and supervisor share: the parent whose end is awaited, the link between the two, and the origin,
 * the state in which the command is started.
 *
 * The arguments begin after `run`. Returns the exit status, unless the command was ended by a signal: then it ends by the
 * same one. */
int run(int count, char **arguments);

#endif
