package mongoerr

import "slices"

// UnansweredError says that there was no answer: the server, or the way to it, was not
// there. Whether what was asked for was done is not known then.
type UnansweredError struct{ Cause error }

// Error is that of the cause.
func (e *UnansweredError) Error() string { return e.Cause.Error() }

// Unwrap returns the cause.
func (e *UnansweredError) Unwrap() error { return e.Cause }

// unavailableCodes are the codes on which all drivers retry reads: elections, shutdowns, and a
// network that failed behind the server.
var unavailableCodes = []Code{
	HostUnreachable, HostNotFound, NetworkTimeout, ShutdownInProgress, ReadConcernMajorityNotAvailableYet,
	PrimarySteppedDown, ExceededTimeLimit, SocketException, NotWritablePrimary, InterruptedAtShutdown,
	InterruptedDueToReplStateChange, NotPrimaryNoSecondaryOk, NotPrimaryOrSecondary,
}

// IsUnavailable reports whether a code says that the server, or a server behind it, was
// not there.
func (c Code) IsUnavailable() bool { return slices.Contains(unavailableCodes, c) }
