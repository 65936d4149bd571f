package busypoll

import "sync/atomic"

// Group is the connections of one client, or of one server. They poll as long as only one
// of them is in use: with several, CPUs do not sleep. The zero value is ready; a nil Group
// never polls. Use it for peers in other processes: a peer in the same process needs the
// CPU.
type Group struct {
	lastReader atomic.Pointer[reader] // who has read last
}
