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

// PauseRuns pauses all runs of shardsh on a cluster: they wait before their next step until the end of the
// pause.
type PauseRuns struct {
	// Reason is shown to the users of waiting runs.
	Reason string
	// For is the duration of the pause. Until is its end, by the clock and in the time zone of this
	// machine: 18:00, "2026-03-02 18:00", or with a zone 2026-03-02T18:00:00Z. Without both, the
	// duration is DefaultRunPause.
	For   time.Duration
	Until string
	// Replace replaces an active pause.
	Replace bool
	// Show only reads the pause. End ends it.
	Show, End bool
}

// DefaultRunPause is the default duration of a pause, and MaxRunPause is the maximum.
const (
	DefaultRunPause = 4 * time.Hour
	MaxRunPause     = 31 * 24 * time.Hour
)

// Validate refuses options that exclude each other.
func (p PauseRuns) Validate() error {
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
	case p.For > MaxRunPause:
		return refuse("{for} may be 31 days at most")
	case p.Until != "":
		_, err := p.endTime(time.Time{}) // its form does not depend on the time
		return err
	}
	return nil
}

// endTime returns the end of a pause with Until.
func (p PauseRuns) endTime(now time.Time) (time.Time, error) {
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
func (p PauseRuns) duration(now time.Time) (time.Duration, error) {
	if p.Until == "" {
		return cmp.Or(p.For, DefaultRunPause), nil
	}
	until, err := p.endTime(now)
	lasts := until.Sub(now)
	if err == nil && (lasts <= 0 || lasts > MaxRunPause) {
		err = refuse("{until} must be within the next 31 days: %s", p.Until)
	}
	return lasts, err
}

// PauseRunsResult describes a pause, or says that there is none.
type PauseRunsResult struct {
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
	// BalancerOn says that the cluster's own balancer is on; a pause does not stop the balancer.
	BalancerOn bool   `json:"balancerOn"`
	Error      string `json:"error,omitzero"`
}

// Pause returns the pause that the result describes.
func (r PauseRunsResult) Pause() catalog.RunsPause {
	return catalog.RunsPause{Reason: r.Reason, User: r.User, Host: r.Host, Login: r.Login, Since: r.Since, Until: r.Until,
		Active: r.Paused}
}

func (r *PauseRunsResult) setPause(p catalog.RunsPause) {
	r.Paused, r.Reason, r.User, r.Host, r.Login, r.Since, r.Until = p.Active, p.Reason, p.User, p.Host, p.Login, p.Since,
		p.Until
}

// Run sets, shows or ends the pause. If another pause is active and is not to be replaced, the error is
// a *live.AlreadyPausedError, and the result describes the other pause.
func (p PauseRuns) Run(ctx context.Context, c Cluster) (result PauseRunsResult, err error) {
	if err := p.Validate(); err != nil {
		return result, err
	}
	if c.SimulatesChanges && !p.Show {
		if err := c.sendFirstWrite(ctx); err != nil {
			return result, err
		}
	}
	if err := live.CheckSharded(ctx, c.runner()); err != nil {
		return result, &NoAnswerError{err}
	}
	if !p.Show && !c.SimulatesChanges {
		_, ended, refused := c.beginAudited(ctx, runStart{verb: "pause"})
		if refused != nil {
			return result, refused
		}
		defer func() { err = ended("", err) }()
	}
	switch {
	case p.Show || c.SimulatesChanges && p.End:
		is, err := live.ReadRunsPause(ctx, c.Client)
		if err != nil {
			return result, &NoAnswerError{err}
		}
		if is != nil {
			result.setPause(*is)
		}
	case p.End:
		was, err := live.EndRunsPause(ctx, c.Client)
		if err != nil {
			return result, &NoAnswerError{err}
		}
		if was != nil {
			result.setPause(*was)
			result.Paused, result.Done = false, "ended"
		}
	default:
		err = p.set(ctx, c, &result)
	}
	if err != nil && !errors.As(err, new(*live.AlreadyPausedError)) {
		return result, err
	}
	status, asked := (&live.ActivityReader{Commands: live.NewCommandRunner(c.Client)}).ReadStatus(ctx)
	result.BalancerOn = asked == nil && status.Mode != catalog.ModeOff
	return result, err
}

func (p PauseRuns) set(ctx context.Context, c Cluster, result *PauseRunsResult) error {
	lasts, err := p.duration(c.Clock.Now())
	if err != nil || c.SimulatesChanges {
		return err
	}
	is, err := live.SetRunsPause(ctx, c.Client, strings.TrimSpace(p.Reason), lasts, p.Replace)
	if errors.As(err, new(*live.AlreadyPausedError)) {
		result.setPause(is)
		result.Error = err.Error()
		return err
	}
	if err != nil {
		return &NoAnswerError{err}
	}
	result.setPause(is)
	result.Done = "paused"
	return nil
}
