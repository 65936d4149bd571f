package catalog

import (
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mongoerr"
)

// Mode is the balancer mode.
type Mode string

// The modes of 8.0.
const (
	ModeFull Mode = "full"
	ModeOff  Mode = "off"
)

// The documents of config.settings that Load reads, in this order.
const (
	SettingBalancer  = "balancer"
	SettingChunkSize = "chunksize"
	SettingAutoMerge = "automerge"
)

// Settings are the balancer's settings (spec 01 §2). Start from
// DefaultSettings.
type Settings struct {
	Mode              Mode
	UnknownMode       string  // mode text that counted as off (warning 7575700), else ""
	Window            *Window // nil = always
	SecondaryThrottle Throttle
	WaitForDelete     bool
	AttemptJumbo      bool
	MaxChunkSizeBytes int64
	AutoMerge         bool
}

// DefaultSettings are in effect as long as nothing is stored.
func DefaultSettings() Settings {
	return Settings{Mode: ModeFull, MaxChunkSizeBytes: DefaultMaxChunkSizeBytes, AutoMerge: true}
}

// Load reads the three documents with get, which gives nil for a missing one.
// It stops at the first failure: what was read before is in effect, the rest
// keeps its values (spec 01 §2.1).
func (s *Settings) Load(get func(id string) (bson.Raw, error)) error {
	for _, group := range []struct {
		id      string
		context string
		load    func(bson.Raw) error
	}{
		{SettingBalancer, "failed to refresh the balancer settings", s.LoadBalancer},
		{SettingChunkSize, "failed to refresh the chunk size settings", s.LoadChunkSize},
		{SettingAutoMerge, "failed to refresh the auto-merge settings", s.LoadAutoMerge},
	} {
		raw, err := get(group.id)
		if err == nil {
			err = group.load(raw)
		}
		if err != nil {
			return mongoerr.Wrap(err, group.context)
		}
	}
	return nil
}

// LoadBalancer takes over the document with _id "balancer"; nil means the
// defaults. After an error nothing has changed.
func (s *Settings) LoadBalancer(raw bson.Raw) error {
	next := DefaultSettings()
	next.MaxChunkSizeBytes, next.AutoMerge = s.MaxChunkSizeBytes, s.AutoMerge

	var stopped bool
	var mode, window, throttle field
	err := eachField(raw, func(f field) error {
		switch f.name {
		case "stopped":
			return f.lenientBool(&stopped)
		case "mode":
			mode = f
		case "activeWindow":
			window = f
		case "_secondaryThrottle":
			throttle = f
		case "_waitForDelete":
			return f.lenientBool(&next.WaitForDelete)
		case "attemptToBalanceJumboChunks":
			return f.lenientBool(&next.AttemptJumbo)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if stopped {
		next.Mode = ModeOff
	} else if err := next.loadMode(mode); err != nil {
		return err
	}
	if next.Window, err = ParseWindow(window.value); err != nil {
		return err
	}
	if next.SecondaryThrottle, err = ParseThrottle(throttle.value); err != nil {
		return err
	}
	*s = next
	return nil
}

// loadMode takes an unknown text for off, which is worth a warning and no
// error (spec 01 §2.2).
func (s *Settings) loadMode(f field) error {
	if f.value.Type == 0 {
		return nil
	}
	var text string
	if err := f.text(&text); err != nil {
		return err
	}
	switch Mode(text) {
	case ModeFull, ModeOff:
		s.Mode = Mode(text)
	default:
		s.Mode, s.UnknownMode = ModeOff, text
	}
	return nil
}

// LoadChunkSize takes over the document with _id "chunksize": an integer
// number of MiB from 1 to 1024. nil means the default.
func (s *Settings) LoadChunkSize(raw bson.Raw) error {
	if raw == nil {
		s.MaxChunkSizeBytes = DefaultMaxChunkSizeBytes
		return nil
	}
	value, err := raw.LookupErr("value")
	if err != nil {
		return missing("chunk size setting", "value")
	}
	var mib int64
	if err := (field{"value", value}).int64(&mib); err != nil {
		return err
	}
	if mib < 1 || mib > 1024 {
		return mongoerr.New(mongoerr.BadValue, "chunk size must be 1 to 1024 MiB, not %d", mib)
	}
	s.MaxChunkSizeBytes = mib << 20
	return nil
}

// LoadAutoMerge takes over the document with _id "automerge", which must have
// a bool enabled. nil means on.
func (s *Settings) LoadAutoMerge(raw bson.Raw) error {
	if raw == nil {
		s.AutoMerge = true
		return nil
	}
	value, err := raw.LookupErr("enabled")
	if err != nil {
		return missing("auto-merge setting", "enabled")
	}
	return field{"enabled", value}.bool(&s.AutoMerge)
}

// ShouldBalance reports whether a round may move chunks now: mode full and
// inside the window.
func (s *Settings) ShouldBalance(now time.Time) bool {
	return s.Mode == ModeFull && s.Window.Contains(now)
}

// ShouldAutoMerge reports whether the auto-merger may work now: mode not off,
// auto-merge on and inside the window.
func (s *Settings) ShouldAutoMerge(now time.Time) bool {
	return s.Mode != ModeOff && s.AutoMerge && s.Window.Contains(now)
}
