package rehearsal

import (
	"sync"

	"shardsh/balancer/catalog"
)

// mirrorState records which parts of the cluster were changed in the mock or copied to it.
type mirrorState struct {
	mu sync.Mutex
	// changed are the changed namespaces, changedDatabases their databases.
	changed, changedDatabases map[string]bool
	// existing are the namespaces in the cluster, of databases with changes.
	existing map[string]bool
	// dropped are databases that were dropped in the mock. usersCopied are databases whose users and roles
	// were copied.
	dropped, usersCopied map[string]bool
}

func newState() mirrorState {
	return mirrorState{changed: map[string]bool{}, changedDatabases: map[string]bool{}, dropped: map[string]bool{},
		existing: map[string]bool{}, usersCopied: map[string]bool{}}
}

func (s *mirrorState) isChanged(ns string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed[ns] || s.dropped[catalog.DatabaseOf(ns)]
}

func (s *mirrorState) isDatabaseChanged(database string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changedDatabases[database]
}

func (s *mirrorState) noteExisting(ns string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.existing[ns] = true
}

func (s *mirrorState) exists(ns string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.existing[ns]
}

func (s *mirrorState) isDropped(database string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dropped[database]
}

// markChanged records that a namespace is changed. It reports whether this is the first change of the
// namespace, and of its database.
func (s *mirrorState) markChanged(ns string) (first, firstInDatabase bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	database := catalog.DatabaseOf(ns)
	first, firstInDatabase = !s.changed[ns] && !s.dropped[database], !s.changedDatabases[database]
	s.changed[ns], s.changedDatabases[database] = true, true
	return first, firstInDatabase
}

// markDropped records that a database is dropped. Everything created in the database afterwards exists
// only in the mock.
func (s *mirrorState) markDropped(database string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changedDatabases[database], s.dropped[database] = true, true
}

// claimUserCopy reports whether the users of a database have yet to be copied. It returns true once.
func (s *mirrorState) claimUserCopy(database string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.usersCopied[database] {
		return false
	}
	s.usersCopied[database] = true
	return true
}
