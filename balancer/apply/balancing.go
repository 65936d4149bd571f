package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/humanize"
)

// BalancerError says that the cluster's own balancer works on collections of a
// plan, or will before that is done.
type BalancerError struct {
	Namespaces []string
	// Opens is when its window opens; zero when it works now.
	Opens time.Time
	// Unplaced is its window when the time zone of that is not known, with Opens the
	// latest time when that can be open; empty when it is known.
	Unplaced string
	// Round says that it is in a round although its window is closed.
	Round bool
	// Meanwhile says that the run had disabled their balancing, and somebody has enabled it
	// or started the balancer. Who says who, as far as the logs tell.
	Meanwhile bool
	Who       string
	// Defragments has those of the collections that are being defragmented, which
	// goes on whatever the switches of a collection say.
	Defragments []string
}

// What says what the balancer does, without a remedy.
func (e *BalancerError) What() string {
	what := "the cluster's balancer is on and balances "
	switch {
	case e.Round:
		what = "the cluster's balancer is in a round, although its window is closed, and balances "
	case e.Unplaced != "":
		what = fmt.Sprintf("the cluster's balancer is on, its window is %s, so that it may be open before this ends, "+
			"and it balances ", e.Unplaced)
	case !e.Opens.IsZero():
		what = fmt.Sprintf("the cluster's balancer is on, its window opens at %s, before this ends, and it "+
			"balances ", e.Opens.UTC().Format(time.RFC3339))
	}
	return what + humanize.AbbreviateCollections(e.Namespaces)
}

// switchedOn says of a run that was to have balancing disabled that somebody has enabled it.
func (r *run) switchedOn(err error) error {
	if e, is := errors.AsType[*BalancerError](err); is {
		e.Meanwhile = r.o.PauseBalancing && len(e.Defragments) == 0
	}
	return err
}

// Error says what to enter, with options as at the prompt.
func (e *BalancerError) Error() string {
	return e.text(`timeZone: "Europe/Berlin"`, "pauseBalancing: true")
}

// SpellOptions returns the text with the names of options as a command line spells them.
func (e *BalancerError) SpellOptions(spell func(option string) string) string {
	return e.text(spell("timeZone")+" Europe/Berlin", spell("pauseBalancing"))
}

func (e *BalancerError) text(timeZone, pauseBalancing string) string {
	if e.Meanwhile {
		return fmt.Sprintf("somebody has enabled the balancing of %s%s, which this run had disabled: stopped. "+
			"To go on, resume the run or start it again as before: that disables it again",
			humanize.AbbreviateCollections(e.Namespaces), e.Who)
	}
	remedy := []string{"sh.stopBalancer()"}
	const few = 4
	for i, ns := range e.Namespaces {
		if i == few {
			remedy = append(remedy, fmt.Sprintf("the same for %d more", len(e.Namespaces)-few))
			break
		}
		if slices.Contains(e.Defragments, ns) {
			remedy = append(remedy, fmt.Sprintf("sh.stopDefragment(%q)", ns))
		} else {
			remedy = append(remedy, fmt.Sprintf("sh.disableBalancing(%q)", ns))
		}
	}
	text := e.What() + ": "
	if e.Unplaced != "" {
		text += "name the time zone of the config servers (" + timeZone + "), or "
	}
	text += remedy[0] + ", or " + strings.Join(remedy[1:], " and ")
	if len(e.Defragments) == 0 {
		text += "; or pause the balancing of these collections for the run (" + pauseBalancing + ")"
	}
	return text
}

// BalancerWorks returns a *BalancerError when the balancer would work on one of
// the collections now or within a time.
func BalancerWorks(s *catalog.Snapshot, namespaces []string, within time.Duration) error {
	p := s.Parts()
	if p.Balancer.Mode != catalog.ModeFull {
		return nil
	}
	opening := s.NextOpening()
	if opening.Never || opening.Earliest.After(p.Time.Add(within)) {
		return nil
	}
	e := balanced(s, namespaces)
	if len(e.Namespaces) == 0 {
		return nil
	}
	switch {
	case !opening.IsExact():
		e.Unplaced, e.Opens = s.WindowText(), opening.Latest
	case opening.Earliest.After(p.Time):
		e.Opens = opening.Earliest
	}
	return e
}

// Undisturbed returns a *BalancerError when the balancer would work on one of the
// collections now or within a time, or is in a round although its settings forbid it:
// then its clock is not what is believed, or a round goes on that began before. A look
// is what was read of the cluster. Each pass through its loop counts as a round, for a
// few milliseconds every ten seconds, so a round is looked for twice.
func Undisturbed(
	ctx context.Context, c Looker, look *catalog.Snapshot, namespaces []string, within time.Duration, clock Clock,
) error {
	err := BalancerWorks(look, namespaces, within)
	if err != nil || !look.Parts().Balancer.InRound {
		return err
	}
	busy := balanced(look, namespaces)
	if len(busy.Namespaces) == 0 {
		return nil
	}
	if err := clock.Sleep(ctx, roundPause); err != nil {
		return context.Cause(ctx)
	}
	if look, err = c.Snapshot(ctx, namespaces); err != nil {
		return err
	}
	if look.Parts().Balancer.InRound {
		busy.Round = true
		return busy
	}
	return nil
}

// balanced returns an error with those of some collections that the balancer may move.
func balanced(s *catalog.Snapshot, namespaces []string) *BalancerError {
	e := &BalancerError{}
	for _, ns := range namespaces {
		c := s.Collection(ns)
		switch {
		case c == nil:
		case c.Defragment && s.Release().BalancesBySize():
			e.Namespaces, e.Defragments = append(e.Namespaces, ns), append(e.Defragments, ns)
		case c.BalanceableIn(s.Release()):
			e.Namespaces = append(e.Namespaces, ns)
		}
	}
	return e
}

// How long the end of a round that is under way is waited for, and how often it
// is looked for.
const (
	roundWait  = 30 * time.Minute
	roundPause = time.Second
)

// pause switches the balancing of collections off where it is on, and waits for
// the end of the round that may have chosen something of them already.
func (r *run) pause(ctx context.Context, s *catalog.Snapshot) (*catalog.Snapshot, error) {
	var on []string
	for _, ns := range r.namespaces {
		c := s.Collection(ns)
		if c == nil || c.NoBalance || slices.Contains(r.paused, ns) {
			continue
		}
		if err := r.write(Record{What: pausing, Namespace: ns}); err != nil {
			return nil, err
		}
		r.paused, on = append(r.paused, ns), append(on, ns)
	}
	if len(on) > 0 {
		if err := r.cluster.SetBalancing(r.hard, on, false); err != nil {
			return nil, err
		}
		r.switched(Paused, on)
	}
	if r.o.DryRun {
		return r.cluster.Snapshot(ctx, r.namespaces)
	}
	return AwaitRound(ctx, r.cluster, r.namespaces, r.o.Clock)
}

// AwaitRound waits for the end of the balancer's round that is under way, if one
// is: what it has chosen already still moves after collections are switched off.
func AwaitRound(ctx context.Context, c Looker, namespaces []string, clock Clock) (*catalog.Snapshot, error) {
	first, err := c.Snapshot(ctx, namespaces)
	if err != nil {
		return first, err
	}
	for now, waited := first, time.Duration(0); ; waited += roundPause {
		began, state := first.Parts().Balancer, now.Parts().Balancer
		if !state.InRound || state.Rounds != began.Rounds {
			return now, nil
		}
		if waited >= roundWait {
			return nil, &BlockedError{"the balancer's round has not ended for " + roundWait.String(), "sh.stopBalancer()"}
		}
		if err := clock.Sleep(ctx, roundPause); err != nil {
			return nil, context.Cause(ctx)
		}
		if now, err = c.Snapshot(ctx, namespaces); err != nil {
			return nil, err
		}
	}
}

// restore switches on again what was switched off.
func (r *run) restore() error {
	if len(r.paused) == 0 {
		return nil
	}
	if err := r.cluster.SetBalancing(r.hard, r.paused, true); err != nil {
		return err
	}
	on := slices.Clone(r.paused)
	for _, ns := range on {
		if err := r.write(Record{What: balancing, Namespace: ns}); err != nil {
			return err
		}
		r.paused = r.paused[1:]
	}
	r.switched(Restored, on)
	return nil
}

// switched tells that the balancing of collections was switched, which a dry run only
// shows the commands of.
func (r *run) switched(kind Kind, namespaces []string) {
	if !r.o.DryRun {
		r.tell(Event{Kind: kind, Namespaces: namespaces})
	}
}
