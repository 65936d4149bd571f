package busypoll

import "sync/atomic"

// Group holds the connections of one client or of one server. Connections poll only while a single
// connection of the group is in use: with several connections, CPUs do not sleep. The zero value is
// ready to use; a nil Group never polls. Use a Group only for peers in other processes: a peer in the
// same process needs the CPU.
type Group struct {
	lastReader atomic.Pointer[reader] // the reader that was used last
}
