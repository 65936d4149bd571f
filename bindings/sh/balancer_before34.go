package sh

import (
	"time"

	"shardsh/balancer/mongoerr"
	"shardsh/bindings/rawdoc"
	"shardsh/bindings/server"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// Servers before 3.4 have no balancer commands. Their shell wrote config.settings, which each mongos
// obeys, and read the lock in config.locks that a balancer holds during a round (rules/01-selection
// §9.5).

// isBefore34 reports whether a balancer command failed because the server is too old. Servers other
// than mongos lack the command, too.
func (h *Helpers) isBefore34(err error) bool {
	return server.CodeOf(err) == mongoerr.CommandNotFound && h.lacksModes()
}

// lacksModes reports whether the server is known to be older than 3.4.
func (h *Helpers) lacksModes() bool {
	release, known := h.release()
	return known && !release.HasConfigServerBalancer()
}

// switchBefore34 switches the balancer on or off. When it switches the balancer off, it waits for the
// end of the round, as balancerStop does.
func (h *Helpers) switchBefore34(c *call, on bool, timeout, interval time.Duration) goja.Value {
	update := bson.D{{Key: "$set", Value: bson.D{{Key: "stopped", Value: !on}}}}
	result := c.updateSetting(h.config(), "balancer", update)
	if c.host.Gateway.HasGuard() {
		return result // no document was written
	}
	if !on {
		h.waitForLock(timeout, interval)
	}
	return c.host.Display.ReplyValue(rawdoc.MustMarshal(bson.D{{Key: "ok", Value: 1.0}}))
}

// waitForLock waits until no balancer holds the lock.
func (h *Helpers) waitForLock(timeout, interval time.Duration) {
	free := h.host.JS.Poll(timeout, interval, func() bool { return !h.readBalancer().InRound })
	if free {
		return
	}
	lock := h.config().FindOne("locks", bson.D{{Key: "_id", Value: "balancer"}})
	h.host.JS.Throw("Error", "the balancer is off, but its round has not ended within %v: %s holds the lock "+
		"\"balancer\" in config.locks (sh.isBalancerRunning() returns whether it is held)", timeout, rawdoc.Text(lock, "who"))
}

// statusBefore34 returns the balancer's state in the catalog, in the fields of balancerStatus.
func (h *Helpers) statusBefore34() bson.Raw {
	state := h.readBalancer()
	return rawdoc.MustMarshal(bson.D{
		{Key: "mode", Value: string(state.Mode)}, {Key: "inBalancerRound", Value: state.InRound}, {Key: "ok", Value: 1.0},
	})
}
