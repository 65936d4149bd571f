package action

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
	"shardsh/balancer/pace"
)

// Pause pauses all runs of shardsh on a cluster: they wait before their next step until the end of the
// pause.
type Pause struct {
	// Reason is shown to the users of waiting runs.
	Reason string
	// For is the duration of the pause. Until is its end, by the clock and in the time zone of this
	// machine: 18:00, "2026-03-02 18:00", or with a zone 2026-03-02T18:00:00Z. Without both, the
	// duration is DefaultPause.
	For   time.Duration
	Until string
	// Replace replaces an active pause.
	Replace bool
	// Show only reads the pause. End ends it.
	Show, End bool
}

// DefaultPause is the default duration of a pause, and MaxPause is the maximum.
const (
	DefaultPause = 4 * time.Hour
	MaxPause     = 31 * 24 * time.Hour
)

// Validate refuses options that exclude each other.
func (p Pause) Validate() error {
	sets := p.Reason != "" || p.For != 0 || p.Until != "" || p.Replace
	switch {
	case p.Show && p.End, (p.Show || p.End) && sets:
		return refuse("{show} and {end} stand alone: they take no reason, {for}, {until} or {replace}")
	case p.Show || p.End:
		return nil
	case strings.TrimSpace(p.Reason) == "":
		return refuse("a pause needs a reason, which is shown to the users of waiting runs")
	case p.For != 0 && p.Until != "":
		return refuse("{for} and {until} exclude each other")
	case p.For < 0:
		return refuse("{for} can't be negative: %v", p.For)
	case p.For > MaxPause:
		return refuse("{for} may be 31 days at most")
	case p.Until != "":
		_, err := p.endTime(time.Time{}) // its form does not depend on the time
		return err
	}
	return nil
}

// endTime returns the end of a pause with Until.
func (p Pause) endTime(now time.Time) (time.Time, error) {
	now = now.In(pace.LocalLocation())
	for _, layout := range []string{"15:04", "2006-01-02 15:04", "2006-01-02T15:04", time.RFC3339} {
		until, err := time.ParseInLocation(layout, p.Until, now.Location())
		switch {
		case err != nil:
			continue
		case layout != "15:04":
			return until, nil
		}
		until = time.Date(now.Year(), now.Month(), now.Day(), until.Hour(), until.Minute(), 0, 0, now.Location())
		if !until.After(now) { // the next day
			until = until.AddDate(0, 0, 1)
		}
		return until, nil
	}
	return time.Time{}, refuse("{until} is a time such as 18:00, %q or 2026-03-02T18:00:00Z, not %q", "2026-03-02 18:00",
		p.Until)
}

// duration returns the duration of the pause from now on.
func (p Pause) duration(now time.Time) (time.Duration, error) {
	if p.Until == "" {
		return cmp.Or(p.For, DefaultPause), nil
	}
	until, err := p.endTime(now)
	lasts := until.Sub(now)
	if err == nil && (lasts <= 0 || lasts > MaxPause) {
		err = refuse("{until} must be within the next 31 days: %s", p.Until)
	}
	return lasts, err
}

// PauseResult describes a pause, or says that there is none.
type PauseResult struct {
	// Paused says whether runs wait now.
	Paused bool `json:"paused"`
	// Done says what was done: "paused", "ended", or empty if nothing was changed.
	Done   string    `json:"done,omitzero"`
	Reason string    `json:"reason,omitzero"`
	User   string    `json:"user,omitzero"`
	Host   string    `json:"host,omitzero"`
	Login  string    `json:"login,omitzero"`
	Since  time.Time `json:"since,omitzero"`
	Until  time.Time `json:"until,omitzero"`
	// Balancer says that the cluster's own balancer is on; a pause does not stop the balancer.
	Balancer bool   `json:"balancerOn"`
	Error    string `json:"error,omitzero"`
}

// Pause returns the pause that the result describes.
func (r PauseResult) Pause() catalog.Pause {
	return catalog.Pause{Reason: r.Reason, User: r.User, Host: r.Host, Login: r.Login, Since: r.Since, Until: r.Until,
		Active: r.Paused}
}

func (r *PauseResult) setPause(p catalog.Pause) {
	r.Paused, r.Reason, r.User, r.Host, r.Login, r.Since, r.Until = p.Active, p.Reason, p.User, p.Host, p.Login, p.Since,
		p.Until
}

// Run sets, shows or ends the pause. If another pause is active and is not to be replaced, the error is
// a *live.PauseError, and the result describes the other pause.
func (p Pause) Run(ctx context.Context, c Cluster) (result PauseResult, err error) {
	if err := p.Validate(); err != nil {
		return result, err
	}
	if c.Guarded && !p.Show {
		if err := c.sendGuardedWrite(ctx); err != nil {
			return result, err
		}
	}
	if err := live.CheckSharded(ctx, c.runner()); err != nil {
		return result, &AccessError{err}
	}
	if !p.Show && !c.Guarded {
		_, ended, refused := c.beginAudited(ctx, runStart{verb: "pause"})
		if refused != nil {
			return result, refused
		}
		defer func() { err = ended("", err) }()
	}
	switch {
	case p.Show || c.Guarded && p.End:
		is, err := live.ReadPause(ctx, c.Client)
		if err != nil {
			return result, &AccessError{err}
		}
		if is != nil {
			result.setPause(*is)
		}
	case p.End:
		was, err := live.EndPause(ctx, c.Client)
		if err != nil {
			return result, &AccessError{err}
		}
		if was != nil {
			result.setPause(*was)
			result.Paused, result.Done = false, "ended"
		}
	default:
		err = p.set(ctx, c, &result)
	}
	if err != nil && !errors.As(err, new(*live.PauseError)) {
		return result, err
	}
	status, asked := (&live.ActivityReader{Commands: live.NewCommandRunner(c.Client)}).ReadStatus(ctx)
	result.Balancer = asked == nil && status.Mode != catalog.ModeOff
	return result, err
}

func (p Pause) set(ctx context.Context, c Cluster, result *PauseResult) error {
	lasts, err := p.duration(c.Clock.Now())
	if err != nil || c.Guarded {
		return err
	}
	is, err := live.SetPause(ctx, c.Client, strings.TrimSpace(p.Reason), lasts, p.Replace)
	if errors.As(err, new(*live.PauseError)) {
		result.setPause(is)
		result.Error = err.Error()
		return err
	}
	if err != nil {
		return &AccessError{err}
	}
	result.setPause(is)
	result.Done = "paused"
	return nil
}
