package wire

import (
	"sync"
	"time"
)

// longCommand is how often a connection that is at work is looked at. A command
// that is under way at two looks takes long: only then is it worth a goroutine to
// notice that its peer leaves.
const longCommand = 10 * time.Millisecond

// watch looks at a connection while it is at work. The connection's state guards
// it.
type watch struct {
	timer *time.Timer
	on    bool   // the timer runs
	seen  uint64 // the newest message at the last look
	over  bool
	// helped: there is a second goroutine, which reads the next message and
	// handles it.
	helped bool
	helper sync.WaitGroup
}

// beginWatch sees to it that a connection with a message is looked at. The caller
// holds the state.
func (c *conn) beginWatch() {
	w := &c.watch
	switch {
	case w.on || w.over:
		return
	case w.timer == nil:
		w.timer = time.AfterFunc(longCommand, c.look)
	default:
		w.timer.Reset(longCommand)
	}
	w.on = true
}

// look starts the second goroutine where the message that was in hand at the last
// look still is. While there are two there is nothing to look for.
func (c *conn) look() {
	c.state.Lock()
	defer c.state.Unlock()
	w := &c.watch
	if w.on = false; c.pending == 0 || w.over || w.helped {
		return
	}
	if w.seen == c.admitted {
		w.helped = true
		w.helper.Go(c.help)
		return
	}
	w.seen = c.admitted
	c.beginWatch()
}

// help reads one message and handles it.
func (c *conn) help() {
	c.serveNext()
	c.state.Lock()
	defer c.state.Unlock()
	if c.watch.helped = false; c.pending > 0 {
		c.beginWatch()
	}
}

// endWatch waits for the second goroutine, of which there will be no other.
func (c *conn) endWatch() {
	c.state.Lock()
	c.watch.over = true
	if c.watch.timer != nil {
		c.watch.timer.Stop()
	}
	c.state.Unlock()
	c.watch.helper.Wait()
}
