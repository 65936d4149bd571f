package catalog

import (
	"fmt"
	"slices"
	"time"
)

// Lease is the right of one process of shardsh to change the cluster. It also contains the collections
// whose balancing is disabled by that process, or by a process that ended without enabling it again.
type Lease struct {
	Doing          string // such as "balance shop.orders"; empty if no process holds the lease
	Host           string
	PID            int
	Since, Expires time.Time // cluster time
	// Running says that the lease had not expired when it was read.
	Running           bool
	PausedCollections []string `bson:"paused"` // sorted
}

// Holder returns the holder, such as "balance shop.orders, process 42 on host".
func (l Lease) Holder() string {
	if l.Doing == "" {
		return "an unknown process"
	}
	return fmt.Sprintf("%s, process %d on %s", l.Doing, l.PID, l.Host)
}

// BalancingDisabledBy returns the lease whose holder has disabled the balancing of a collection; nil if
// it is not disabled, or if another client has disabled it.
func (s *Snapshot) BalancingDisabledBy(ns string) *Lease {
	l := s.parts.Lease
	if l == nil {
		return nil
	}
	if _, ok := slices.BinarySearch(l.PausedCollections, ns); !ok {
		return nil
	}
	if c := s.Collection(ns); c == nil || !c.NoBalance {
		return nil
	}
	return l
}
