package sh

import (
	"shardsh/balancer/pace"
)

// paceNames are the options of helpers that move something, all at a pace.
const paceNames = "maxMoves,maxBytes,for,pauseBetween,window"

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
	return r
}
