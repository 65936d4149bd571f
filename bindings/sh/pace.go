package sh

import (
	"shardsh/balancer/pace"
	"shardsh/bindings/applying"
	"shardsh/bindings/script"
	"shardsh/bindings/server"
)

// paceNames are the options of helpers that move something, all at a pace.
const paceNames = "maxMoves,maxBytes,for,pauseBetween,window,pauseWhen"

// pace reads the options that say at which pace something moves.
func (h helperOptions) pace() pace.Rules {
	r := pace.Rules{
		MaxMoves: int(h.count("maxMoves")), MaxBytes: h.size("maxBytes"), For: h.duration("for", 0),
		Pause: h.duration("pauseBetween", 0), CoolDown: h.duration("coolDown", 0),
	}
	if text := h.text("window"); text != "" {
		w, err := pace.ParseWindow(text, pace.MachineZone())
		if err != nil {
			h.c.JS.ThrowInvalid("sh.%s: %s", h.helper, err)
		}
		r.Window = w
	}
	if text := h.text("pauseWhen"); text != "" {
		c, err := pace.ParseCondition(text)
		if err != nil {
			h.c.JS.ThrowInvalid("sh.%s: %s", h.helper, err)
		}
		r.PauseWhen = c
	}
	return r
}

// gate returns what lets the moves of a run begin, and ends its connections.
func (c *call) gate(conn *server.Conn, r pace.Rules, t applying.Teller) (*pace.Gate, func()) {
	if r.PauseWhen != nil && conn.Settings == nil {
		c.JS.ThrowInvalid("pauseWhen is not possible here: the shards' members can't be reached")
	}
	look, leave, err := applying.Members(c.JS.Context(), conn.Client, conn.Settings, r)
	if err != nil {
		c.JS.Throw(script.RuntimeError, "%s", err)
	}
	return applying.Pace(conn.Client, r, c.JS.Clock, t.Waits, look), leave
}
