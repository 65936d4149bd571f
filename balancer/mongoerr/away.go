package mongoerr

import "slices"

// UnansweredError says that there was no answer: the server, or the way to it, was not
// there. Whether what was asked for was done is not known then.
type UnansweredError struct{ Cause error }

// Error is that of the cause.
func (e *UnansweredError) Error() string { return e.Cause.Error() }

// Unwrap returns the cause.
func (e *UnansweredError) Unwrap() error { return e.Cause }

// away are the codes on which all drivers read again: elections, shutdowns, and a
// network that failed behind the server.
var away = []Code{
	HostUnreachable, HostNotFound, NetworkTimeout, ShutdownInProgress, ReadConcernMajorityNotAvailableYet,
	PrimarySteppedDown, ExceededTimeLimit, SocketException, NotWritablePrimary, InterruptedAtShutdown,
	InterruptedDueToReplStateChange, NotPrimaryNoSecondaryOk, NotPrimaryOrSecondary,
}

// Away reports whether a code says that who was asked, or a server behind it, was
// not there.
func (c Code) Away() bool { return slices.Contains(away, c) }
