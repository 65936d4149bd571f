package balancer

import (
	"sync"

	"shardsh/balancer/catalog"
)

// currentSettings are those last read or set.
type currentSettings struct {
	mu    *sync.Mutex // of the loop
	value catalog.Settings
	times int64 // how often they were set
}

// get returns the settings and how often they were set so far.
func (c *currentSettings) get() (catalog.Settings, int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.value, c.times
}

func (c *currentSettings) set(s catalog.Settings) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.value = s
	c.times++
}

// setUnless sets settings unless others were set since they had been set so many
// times: a command that came meanwhile has read newer ones.
func (c *currentSettings) setUnless(times int64, s catalog.Settings) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.times != times {
		return false
	}
	c.value = s
	c.times++
	return true
}
