package catalog

import (
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mongoerr"
)

// Mode is the balancer mode.
type Mode string

// These are the modes. ModeAutoSplitOnly exists from 3.4 to 5.0: shards split chunks that have grown,
// and no chunk moves.
const (
	ModeFull          Mode = "full"
	ModeOff           Mode = "off"
	ModeAutoSplitOnly Mode = "autoSplitOnly"
)

// These are the documents of config.settings that Load reads, in this order. The third document depends
// on the release.
const (
	SettingBalancer  = "balancer"
	SettingChunkSize = "chunksize"
	SettingAutoMerge = "automerge"
	SettingAutoSplit = "autosplit"
)

// Settings are the balancer's settings (rules/01-rounds-and-settings §2). DefaultSettingsOf returns the
// initial value for a release.
type Settings struct {
	// Release decides how the documents are parsed. It is not a field of the documents.
	Release Release

	Mode        Mode
	UnknownMode string  // unknown mode that counts as off (warning 7575700); otherwise empty
	Window      *Window // nil = always
	// Days replaces Window if it is not empty.
	Days []DayWindow
	// DaysIgnored says that the document has Days, and that they are ignored because of the feature
	// compatibility version (warning 8248700).
	DaysIgnored       bool
	SecondaryThrottle Throttle
	WaitForDelete     bool
	AttemptJumbo      bool
	MaxChunkSizeBytes int64
	AutoMerge         bool
	AutoSplit         bool
}

// DefaultSettings returns the settings of the current release if no settings are stored.
func DefaultSettings() Settings { return DefaultSettingsOf(Release{}) }

// DefaultSettingsOf returns the settings of a release if no settings are stored.
func DefaultSettingsOf(r Release) Settings {
	return Settings{
		Release: r, Mode: ModeFull, MaxChunkSizeBytes: r.DefaultChunkSize(),
		AutoMerge: r.AutoMerges(), AutoSplit: r.AutoSplits(),
	}
}

type settingsGroup struct {
	id      string
	context string
	load    func(*Settings, bson.Raw) error
}

// settingsGroups returns the documents that the release reads.
func (r Release) settingsGroups() []settingsGroup {
	groups := []settingsGroup{
		{SettingBalancer, "failed to refresh the balancer settings", (*Settings).LoadBalancer},
		{SettingChunkSize, "failed to refresh the chunk size settings", (*Settings).LoadChunkSize},
	}
	switch {
	case r.AutoMerges():
		return append(groups, settingsGroup{SettingAutoMerge, "failed to refresh the auto-merge settings",
			(*Settings).LoadAutoMerge})
	case r.AutoSplits() && r.HasConfigServerBalancer():
		return append(groups, settingsGroup{SettingAutoSplit, "failed to refresh the auto-split settings",
			(*Settings).LoadAutoSplit})
	}
	return groups
}

// Load reads the documents with get, which returns nil for a missing document. Load stops at the first
// failure: the settings read before the failure are in effect, and the others keep their values
// (rules/01-rounds-and-settings §2.1).
func (s *Settings) Load(get func(id string) (bson.Raw, error)) error {
	for _, group := range s.Release.settingsGroups() {
		raw, err := get(group.id)
		if err == nil {
			err = group.load(s, raw)
		}
		if err != nil {
			return mongoerr.Wrap(err, group.context)
		}
	}
	return nil
}

// LoadBalancer loads the document with _id "balancer"; nil means the defaults. After an error the
// settings are unchanged.
func (s *Settings) LoadBalancer(raw bson.Raw) error {
	next := DefaultSettingsOf(s.Release)
	next.MaxChunkSizeBytes, next.AutoMerge, next.AutoSplit = s.MaxChunkSizeBytes, s.AutoMerge, s.AutoSplit

	var stopped bool
	var mode, window, days, throttle field
	err := eachField(raw, func(f field) error {
		switch f.name {
		case "stopped":
			return f.lenientBool(&stopped)
		case "mode":
			mode = f
		case "activeWindow":
			window = f
		case "activeWindowDOW":
			days = f
		case "_secondaryThrottle":
			throttle = f
		case "_waitForDelete":
			return f.lenientBool(&next.WaitForDelete)
		case "attemptToBalanceJumboChunks":
			if next.Release.ForcesJumbo() {
				return f.lenientBool(&next.AttemptJumbo)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if !stopped || s.Release.ParsesBalancerSettingsStrictly() {
		if err := next.loadMode(mode); err != nil {
			return err
		}
	}
	if stopped {
		next.Mode = ModeOff
	}
	if err := next.loadWindows(window, days); err != nil {
		return err
	}
	if next.SecondaryThrottle, err = ParseThrottle(throttle.value); err != nil {
		return err
	}
	*s = next
	return nil
}

// loadMode treats an unknown mode as off, with a warning; up to 5.0 and from 8.3 it is an error
// (rules/01-rounds-and-settings §2.2).
func (s *Settings) loadMode(f field) error {
	if f.value.Type == 0 || !s.Release.HasConfigServerBalancer() {
		return nil
	}
	var text string
	if err := f.text(&text); err != nil {
		return err
	}
	switch mode := Mode(text); {
	case mode == ModeFull, mode == ModeOff, mode == ModeAutoSplitOnly && s.Release.AutoSplits():
		s.Mode = mode
	case !s.Release.BalancesBySize(), s.Release.ParsesBalancerSettingsStrictly():
		return mongoerr.New(mongoerr.BadValue, "invalid balancer mode %q", text)
	default:
		s.Mode, s.UnknownMode = ModeOff, text
	}
	return nil
}

// loadWindows loads the daily window, or from 8.3 on the windows of the days, which replace the daily
// window. 2.4 ignores a window that can't be parsed. With a feature compatibility version below 8.3,
// windows of days cause a warning.
func (s *Settings) loadWindows(window, days field) (err error) {
	if list, ok := days.value.ArrayOK(); ok && s.Release.IgnoresDayWindows() {
		entries, _ := list.Values()
		s.DaysIgnored = len(entries) > 0
	}
	if s.Release.ReadsDayWindows() && days.value.Type != 0 {
		if s.Days, err = ParseDayWindows(days.value); err != nil || len(s.Days) > 0 {
			return err
		}
	}
	if doc, ok := window.value.DocumentOK(); ok && s.Release.ParsesBalancerSettingsStrictly() {
		if err := requireFields("activeWindow", doc, "start", "stop"); err != nil {
			return err
		}
	}
	s.Window, err = ParseWindow(window.value)
	if !s.Release.HasConfigServerBalancer() {
		return nil
	}
	return err
}

// inWindow reports whether now is inside the windows.
func (s *Settings) inWindow(now time.Time) bool {
	if len(s.Days) == 0 {
		return s.Window.Contains(now)
	}
	return slices.ContainsFunc(s.Days, func(d DayWindow) bool { return d.Contains(now) })
}

// LoadChunkSize loads the document with _id "chunksize": an integer number of MiB from 1 to 1024. nil
// means the default.
func (s *Settings) LoadChunkSize(raw bson.Raw) error {
	if raw == nil {
		s.MaxChunkSizeBytes = s.Release.DefaultChunkSize()
		return nil
	}
	value, err := raw.LookupErr("value")
	if err != nil {
		return missingFieldError("chunk size setting", "value")
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

// LoadAutoMerge loads the document with _id "automerge", which must have a bool enabled. nil means on.
func (s *Settings) LoadAutoMerge(raw bson.Raw) error {
	return loadSwitch(raw, "auto-merge setting", &s.AutoMerge)
}

// LoadAutoSplit loads the document with _id "autosplit", in the same form as that of the auto-merger.
func (s *Settings) LoadAutoSplit(raw bson.Raw) error {
	return loadSwitch(raw, "auto-split setting", &s.AutoSplit)
}

func loadSwitch(raw bson.Raw, what string, on *bool) error {
	if raw == nil {
		*on = true
		return nil
	}
	value, err := raw.LookupErr("enabled")
	if err != nil {
		return missingFieldError(what, "enabled")
	}
	return field{"enabled", value}.bool(on)
}

// ShouldBalance reports whether a round may move chunks now: the mode is full, and the time is inside
// the window.
func (s *Settings) ShouldBalance(now time.Time) bool {
	return s.Mode == ModeFull && s.inWindow(now)
}

// ShouldAutoSplit reports whether shards may now split chunks that have grown: the mode is not off,
// auto-split is on, and the time is inside the window.
func (s *Settings) ShouldAutoSplit(now time.Time) bool {
	return s.Mode != ModeOff && s.AutoSplit && s.inWindow(now)
}

// ShouldAutoMerge reports whether the auto-merger may work now: the mode is not off, auto-merge is on,
// and the time is inside the window.
func (s *Settings) ShouldAutoMerge(now time.Time) bool {
	return s.Mode != ModeOff && s.AutoMerge && s.inWindow(now)
}
