package rehearsal

import (
	"strings"
	"sync"
)

// state tracks which parts of the cluster the mock has changed or copied.
type state struct {
	mu sync.Mutex
	// touched are namespaces that were changed, databases those in which any was.
	touched, databases map[string]bool
	// existing are namespaces that the cluster has, of the databases in which any was
	// changed.
	existing map[string]bool
	// dropped are databases of which nothing is left, users those whose users and
	// roles the mock has.
	dropped, users map[string]bool
}

func newState() state {
	return state{touched: map[string]bool{}, databases: map[string]bool{}, dropped: map[string]bool{},
		existing: map[string]bool{}, users: map[string]bool{}}
}

func databaseOf(ns string) string {
	name, _, _ := strings.Cut(ns, ".")
	return name
}

func (s *state) isChanged(ns string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.touched[ns] || s.dropped[databaseOf(ns)]
}

func (s *state) isDatabaseChanged(database string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.databases[database]
}

func (s *state) noteExisting(ns string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.existing[ns] = true
}

func (s *state) exists(ns string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.existing[ns]
}

func (s *state) isDropped(database string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dropped[database]
}

// markChanged notes that a namespace is changed, and reports whether it is for the first
// time, and so its database.
func (s *state) markChanged(ns string) (first, firstInDatabase bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	database := databaseOf(ns)
	first, firstInDatabase = !s.touched[ns] && !s.dropped[database], !s.databases[database]
	s.touched[ns], s.databases[database] = true, true
	return first, firstInDatabase
}

// markDropped notes that a database is dropped; what is made in it is the mock's alone.
func (s *state) markDropped(database string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.databases[database], s.dropped[database] = true, true
}

// claimUserCopy reports whether the users of a database are to be copied; once.
func (s *state) claimUserCopy(database string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users[database] {
		return false
	}
	s.users[database] = true
	return true
}
