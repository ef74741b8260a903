#!/usr/bin/perl
# A program as they are found in the wild: JSON-RPC 2.0, one message a line, one request after the other. It looks for
# a cancellation of what it runs between two of its steps.
use strict;
use warnings;
use JSON::PP;
use IO::Select;

$| = 1;
my $json  = JSON::PP->new->allow_nonref->canonical;
my $input = IO::Select->new(\*STDIN);
my ( $buffer, $linger, %cancelled ) = ( '', 0 );

sub answer { print $json->encode( { jsonrpc => '2.0', @_ } ), "\n" }

# The next message; with `$wait` 0 only one that is there already.
sub message {
    my ($wait) = @_;
    while ( $buffer !~ /\n/ ) {
        return undef unless $input->can_read($wait);
        my $read = sysread STDIN, $buffer, 65536, length $buffer;
        next if $read;
        select undef, undef, undef, $linger;
        exit 0;
    }
    $buffer =~ s/^(.*?)\n//;
    return $json->decode($1);
}

my @later;

sub is_cancelled {
    my ($id) = @_;
    while ( my $message = message(0) ) {
        if   ( $message->{method} eq '$/cancelRequest' ) { $cancelled{ $message->{params}{id} } = 1 }
        else                                             { push @later, $message }
    }
    return $cancelled{$id};
}

my $produced = 0;
my %methods  = (
    echo  => sub { $_[0] },
    words => sub {
        my %count;
        $count{ lc $_ }++ for $_[0]{text} =~ /\w+/g;
        return \%count;
    },
    fail => sub { die { code => -32000, message => 'on purpose', data => 'line 7' } },
    wait => sub {
        select undef, undef, undef, 0.01 until is_cancelled( $_[1] );
        die { code => -32800, message => 'cancelled' };
    },
    count => sub {
        answer( method => '$/progress', params => { token => $_[1], value => $_ } ) for 1 .. $_[0]{to};
        return 'counted';
    },
    filler => sub {
        $produced = 0;
        until ( is_cancelled( $_[1] ) ) {
            answer( method => '$/progress', params => { token => $_[1], value => 'x' x 1000 } );
            $produced++;
        }
        die { code => -32800, message => 'cancelled' };
    },
    produced => sub { $produced },
    garble   => sub { print "this is not JSON\n"; 'went on' },
    mute     => sub { close STDOUT; 1 while message(undef) },
    finish   => sub { answer( id => $_[1], result => $_[0] ); exit 0 },
    linger   => sub { $linger = 0.3 },
    ask      => sub {
        answer( id => 'mine', method => 'host/double', params => { number => 21 } );
        my $reply = message(undef);
        return $reply->{result} // $reply->{error};
    },
    announce => sub { answer( method => 'news', params => { what => 'announced' } ); undef },
    environment => sub { [ sort keys %ENV ] },
    variable => sub { $ENV{ $_[0]{name} } },
);

while (1) {
    my $request = shift @later // message(undef);
    my ( $id, $method ) = @$request{qw(id method)};
    next unless defined $id;
    my $code = $methods{$method};
    if ( !$code ) {
        answer( id => $id, error => { code => -32601, message => "no method $method" } );
        next;
    }
    my $result = eval { $code->( $request->{params}, $id ) };
    if   ( my $error = $@ ) { answer( id => $id, error => ref $error ? $error : { code => -32603, message => "$error" } ) }
    else                    { answer( id => $id, result => $result ) }
}
