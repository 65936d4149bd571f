// Package settings holds the settings of config.set: the values, the object config, and the file that
// stores them between sessions.
package settings

import (
	"math"
	"slices"

	"github.com/dop251/goja"

	"shardsh/bindings/display"
	"shardsh/bindings/script"
	"shardsh/bindings/values"
)

// Values are the settings. An interactive session saves them; a script leaves nothing behind in the
// home directory (rules/04-outputs-and-traps §10, trap 37).
type Values struct {
	DisplayBatchSize      int
	MaxTimeMS             int64 // 0 for none
	Inspect               display.InspectSettings
	HistoryLength         int
	RedactHistory         string
	Editor                string // empty for none
	pager                 pager
	DisableSchemaSampling bool
	LoadMongoshrc         bool

	changedByScript map[string]bool // changed by a script in this run
	path            string          // path of the file that stores them; empty for none
}

// Default returns the default settings.
func Default() *Values {
	return &Values{
		DisplayBatchSize: 20, Inspect: display.InspectSettings{Compact: 3, Depth: 6}, HistoryLength: 1000,
		RedactHistory: "remove", DisableSchemaSampling: true,
	}
}

// option is one setting, with functions to read and to change it. set returns a message for an invalid
// value, or an empty string.
type option struct {
	name string
	get  func(s *Values) any
	set  func(s *Values, v goja.Value) (wrong string)
}

// Class is the name of config's class in help texts.
const Class = "Config"

const mustBePositive = " must be a positive integer"

func integerOption(name string, least float64, where func(*Values) *int) option {
	return option{name, func(s *Values) any { return *where(s) }, func(s *Values, v goja.Value) string {
		n := v.ToFloat()
		if !goja.IsNumber(v) || n != float64(int(n)) && !goja.IsInfinity(v) || n < least {
			return name + mustBePositive
		}
		*where(s) = int(min(n, 1<<30))
		return ""
	}}
}

func booleanOption(name string, where func(*Values) *bool) option {
	return option{name, func(s *Values) any { return *where(s) }, func(s *Values, v goja.Value) string {
		if script.TypeOf(v) != "boolean" {
			return name + " must be a boolean"
		}
		*where(s) = v.ToBoolean()
		return ""
	}}
}

func allOptions() []option {
	return []option{
		integerOption("displayBatchSize", 1, func(s *Values) *int { return &s.DisplayBatchSize }),
		{"maxTimeMS", func(s *Values) any { return nullWhenZero(s.MaxTimeMS) }, func(s *Values, v goja.Value) string {
			if n := v.ToFloat(); !goja.IsNull(v) && (!goja.IsNumber(v) || n < 1 || n != math.Trunc(n)) { // or NaN
				return "maxTimeMS must be null or a positive integer"
			}
			s.MaxTimeMS = v.ToInteger()
			return ""
		}},
		{"inspectCompact", func(s *Values) any {
			switch s.Inspect.Compact {
			case values.MultiLine:
				return false
			case values.CompactFull:
				return true
			}
			return s.Inspect.Compact
		}, func(s *Values, v goja.Value) string {
			if script.TypeOf(v) == "boolean" {
				s.Inspect.Compact = values.MultiLine
				if v.ToBoolean() {
					s.Inspect.Compact = values.CompactFull
				}
				return ""
			}
			if !goja.IsNumber(v) || v.ToFloat() < 0 {
				return "inspectCompact must be a boolean or a positive integer"
			}
			s.Inspect.Compact = int(min(v.ToInteger(), 1<<30))
			return ""
		}},
		integerOption("inspectDepth", 0, func(s *Values) *int { return &s.Inspect.Depth }),
		integerOption("historyLength", 0, func(s *Values) *int { return &s.HistoryLength }),
		booleanOption("showStackTraces", func(s *Values) *bool { return &s.Inspect.ErrorStacks }),
		{"redactHistory", func(s *Values) any { return s.RedactHistory }, func(s *Values, v goja.Value) string {
			if !slices.Contains([]string{"keep", "remove", "remove-redact"}, v.String()) {
				return "redactHistory must be one of 'keep', 'remove', or 'remove-redact'"
			}
			s.RedactHistory = v.String()
			return ""
		}},
		{"editor", func(s *Values) any {
			if s.Editor == "" {
				return nil
			}
			return s.Editor
		}, func(s *Values, v goja.Value) string {
			if !goja.IsNull(v) && !goja.IsString(v) {
				return "editor must be a string or null"
			}
			s.Editor = script.OptionalText(v)
			return ""
		}},
		pagerOption(),
		booleanOption("disableSchemaSampling", func(s *Values) *bool { return &s.DisableSchemaSampling }),
		booleanOption("loadMongoshrc", func(s *Values) *bool { return &s.LoadMongoshrc }),
	}
}

func nullWhenZero(n int64) any {
	if n == 0 {
		return nil
	}
	return n
}

func optionNamed(name string) *option {
	for _, o := range allOptions() {
		if o.name == name {
			return &o
		}
	}
	return nil
}

// Names returns the names of all settings.
func Names() []string {
	var names []string
	for _, o := range allOptions() {
		names = append(names, o.name)
	}
	return names
}

// Set changes a setting. It returns a message for an invalid value, or an empty string.
func (s *Values) Set(name string, v goja.Value) (wrong string) { return optionNamed(name).set(s, v) }
