package mongoerr

import "slices"

// UnansweredError says that no reply arrived, because the server or the network was not available. It
// is unknown whether the request was carried out.
type UnansweredError struct{ Cause error }

// Error returns the message of the cause.
func (e *UnansweredError) Error() string { return e.Cause.Error() }

// Unwrap returns the cause.
func (e *UnansweredError) Unwrap() error { return e.Cause }

// unavailableCodes are the codes on which all drivers retry reads: elections, shutdowns, and network
// failures behind the server.
var unavailableCodes = []Code{
	HostUnreachable, HostNotFound, NetworkTimeout, ShutdownInProgress, ReadConcernMajorityNotAvailableYet,
	PrimarySteppedDown, ExceededTimeLimit, SocketException, NotWritablePrimary, InterruptedAtShutdown,
	InterruptedDueToReplStateChange, NotPrimaryNoSecondaryOk, NotPrimaryOrSecondary,
}

// IsUnavailable reports whether a code says that the server, or a server behind it, was not available.
func (c Code) IsUnavailable() bool { return slices.Contains(unavailableCodes, c) }
