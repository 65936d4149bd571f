package balancer

import (
	"sync"

	"shardsh/balancer/catalog"
)

// currentSettings holds the settings that were last read or set.
type currentSettings struct {
	mu       *sync.Mutex // of the loop
	value    catalog.Settings
	revision int64 // incremented by each set
}

// get returns the settings and their revision.
func (c *currentSettings) get() (catalog.Settings, int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.value, c.revision
}

func (c *currentSettings) set(s catalog.Settings) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.value = s
	c.revision++
}

// setIfRevision sets the settings if the revision is still the given one (compare-and-set), so that
// settings which a command has read in the meantime are not overwritten.
func (c *currentSettings) setIfRevision(revision int64, s catalog.Settings) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.revision != revision {
		return false
	}
	c.value = s
	c.revision++
	return true
}
