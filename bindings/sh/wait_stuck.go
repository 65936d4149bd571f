package sh

import (
	"strings"

	"shardsh/balancer/diagnosis"
	"shardsh/bindings/script"
)

// foresee ends the wait when what it waits for can't come, and says so early where the
// balancer will do a part only.
func (w *wait) foresee(now workState) {
	if now.stuck != "" {
		w.stop(now.stuck)
		return
	}
	if w.outlook == nil {
		return
	}
	stuck, later := w.outlook.obstacles()
	if len(stuck) > 0 {
		w.stop(texts(stuck))
	}
	for _, f := range later {
		w.warnOnce("As things stand this will not end by itself: " + f.Text())
	}
}

// stop throws, or goes on waiting if that was asked for.
func (w *wait) stop(why string) {
	if w.keep {
		w.warnOnce("Waiting all the same: " + why)
		return
	}
	w.progress.End()
	w.s.JS.Throw(script.StuckError, "%s", why)
}

func (w *wait) warnOnce(text string) {
	if w.warned[text] {
		return
	}
	if w.warned == nil {
		w.warned = map[string]bool{}
	}
	w.warned[text] = true
	w.progress.End()
	w.s.JS.Out.Warn(text)
}

// obstacles returns what keeps the goal from being reached: what it is stuck at, as two
// looks in a row have it, or what it will be stuck at later.
func (o *outlook) obstacles() (stuck, later []diagnosis.Finding) {
	o.renew()
	if o.off {
		return nil, nil
	}
	stuck = o.asked(o.made.Stuck())
	switch {
	case len(stuck) == 0:
		o.suspected = false
		return nil, o.asked(o.made.Obstacles())
	case !o.suspected:
		o.suspected, o.next = true, o.at
		return nil, nil
	}
	return stuck, nil
}

// asked leaves out what the caller sees to.
func (o *outlook) asked(list []diagnosis.Finding) (asked []diagnosis.Finding) {
	for _, f := range list {
		if o.ours == nil || !o.ours(f) {
			asked = append(asked, f)
		}
	}
	return asked
}

// end throws where what a poll waits for can't come.
func (o *outlook) end() {
	if stuck, _ := o.obstacles(); len(stuck) > 0 {
		o.sh.s.JS.Throw(script.StuckError, "%s", texts(stuck))
	}
}

// remainder says what has to be done before a shard is empty, with the bounds of chunks, for
// which the cluster is read once more; of the same remainder once only.
func (o *outlook) remainder(d diagnosis.Drain) string {
	plain := d.Remainder().Text()
	switch {
	case d.Flagged == 0:
		return plain
	case plain == o.remains:
		return o.detailed
	}
	o.remains, o.detailed, o.next = plain, plain, o.at
	o.renew()
	for _, f := range o.made.Because {
		if f.Code == diagnosis.DrainNeedsOperator && f.Scope.Shard == d.Shard {
			o.detailed = f.Text()
		}
	}
	return o.detailed
}

// texts says what is the case and what has to be done, of the weightiest.
func texts(list []diagnosis.Finding) string {
	const most = 3
	var parts []string
	for _, f := range list[:min(most, len(list))] {
		parts = append(parts, f.Text())
	}
	return strings.Join(parts, "; ")
}
