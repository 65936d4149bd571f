package bindings

import (
	"slices"

	"github.com/dop251/goja"

	"shardsh/bindings/display"
	"shardsh/bindings/script"
	"shardsh/bindings/values"
)

// settings are what config.set changes. An interactive session keeps them; a
// script leaves nothing behind in the home directory (rules/04-outputs-and-traps §10, trap 37).
type settings struct {
	displayBatchSize      int
	maxTimeMS             int64 // 0: none
	look                  display.Look
	historyLength         int
	redactHistory         string
	editor                string // empty: none
	pager                 pagerSetting
	disableSchemaSampling bool
	loadMongoshrc         bool

	set map[string]bool // what was changed in this run
}

func defaultSettings() settings {
	return settings{
		displayBatchSize: 20, look: display.Look{Compact: 3, Depth: 6}, historyLength: 1000,
		redactHistory: "remove", disableSchemaSampling: true,
	}
}

// option is one setting: how scripts read it, and how they change it. set
// answers what is wrong with a value, or nothing.
type option struct {
	name string
	get  func(s *settings) any
	set  func(s *settings, v goja.Value) (wrong string)
}

// configClass is the class of config in helps.
const configClass = "Config"

const mustBePositive = " must be a positive integer"

func wholeNumber(name string, least float64, where func(*settings) *int) option {
	return option{name, func(s *settings) any { return *where(s) }, func(s *settings, v goja.Value) string {
		n := v.ToFloat()
		if !goja.IsNumber(v) || n != float64(int(n)) && !goja.IsInfinity(v) || n < least {
			return name + mustBePositive
		}
		*where(s) = int(min(n, 1<<30))
		return ""
	}}
}

func boolean(name string, where func(*settings) *bool) option {
	return option{name, func(s *settings) any { return *where(s) }, func(s *settings, v goja.Value) string {
		if script.TypeOf(v) != "boolean" {
			return name + " must be a boolean"
		}
		*where(s) = v.ToBoolean()
		return ""
	}}
}

func allOptions() []option {
	return []option{
		wholeNumber("displayBatchSize", 1, func(s *settings) *int { return &s.displayBatchSize }),
		{"maxTimeMS", func(s *settings) any { return nullWhenZero(s.maxTimeMS) }, func(s *settings, v goja.Value) string {
			if !goja.IsNull(v) && (!goja.IsNumber(v) || v.ToFloat() <= 0) {
				return "maxTimeMS must be null or a positive integer"
			}
			s.maxTimeMS = v.ToInteger()
			return ""
		}},
		{"inspectCompact", func(s *settings) any {
			switch s.look.Compact {
			case values.MultiLine:
				return false
			case values.CompactFull:
				return true
			}
			return s.look.Compact
		}, func(s *settings, v goja.Value) string {
			if script.TypeOf(v) == "boolean" {
				s.look.Compact = values.MultiLine
				if v.ToBoolean() {
					s.look.Compact = values.CompactFull
				}
				return ""
			}
			if !goja.IsNumber(v) || v.ToFloat() < 0 {
				return "inspectCompact must be a boolean or a positive integer"
			}
			s.look.Compact = int(min(v.ToInteger(), 1<<30))
			return ""
		}},
		wholeNumber("inspectDepth", 0, func(s *settings) *int { return &s.look.Depth }),
		wholeNumber("historyLength", 0, func(s *settings) *int { return &s.historyLength }),
		boolean("showStackTraces", func(s *settings) *bool { return &s.look.Stacks }),
		{"redactHistory", func(s *settings) any { return s.redactHistory }, func(s *settings, v goja.Value) string {
			if !slices.Contains([]string{"keep", "remove", "remove-redact"}, v.String()) {
				return "redactHistory must be one of 'keep', 'remove', or 'remove-redact'"
			}
			s.redactHistory = v.String()
			return ""
		}},
		{"editor", func(s *settings) any {
			if s.editor == "" {
				return nil
			}
			return s.editor
		}, func(s *settings, v goja.Value) string {
			if !goja.IsNull(v) && !goja.IsString(v) {
				return "editor must be a string or null"
			}
			s.editor = script.OptionalText(v)
			return ""
		}},
		pagerOption(),
		boolean("disableSchemaSampling", func(s *settings) *bool { return &s.disableSchemaSampling }),
		boolean("loadMongoshrc", func(s *settings) *bool { return &s.loadMongoshrc }),
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

// newSettings makes config. Its methods answer sentences rather than throw
// (rules/04-command-line-and-prompt §2.10).
func (s *Shell) newSettings() goja.Value {
	o := s.JS.Runtime.NewObject()
	add := func(name, signature, help string, f func(c *call) goja.Value) {
		params := script.ParseSignature(signature)
		fn := s.function(name, func(c *call) goja.Value {
			c.Check("config."+name, params)
			return f(c)
		})
		s.JS.Help.Describe(fn, script.Help{Form: script.CallForm(name, signature), Class: configClass, Text: help})
		script.Define(o, name, fn)
	}
	unknown := func(name string) goja.Value {
		return s.JS.Runtime.ToValue("Option \"" + name + "\" is not available in this environment")
	}
	add("get", "key:string", "Returns the value of a setting.", func(c *call) goja.Value {
		if opt := optionNamed(c.Text(0)); opt != nil {
			return c.JS.Runtime.ToValue(opt.get(&c.s.settings))
		}
		return nil
	})
	add("set", "key:string value:any", "Changes a setting.", func(c *call) goja.Value {
		name := c.Text(0)
		opt := optionNamed(name)
		if opt == nil {
			return unknown(name)
		}
		if wrong := opt.set(&c.s.settings, c.Arg(1)); wrong != "" {
			return c.JS.Runtime.ToValue("Cannot set option \"" + name + "\": " + wrong)
		}
		return c.changed(opt, "has been changed")
	})
	add("reset", "key:string", "Gives a setting its default value.", func(c *call) goja.Value {
		name := c.Text(0)
		opt := optionNamed(name)
		if opt == nil {
			return unknown(name)
		}
		standard := defaultSettings()
		opt.set(&c.s.settings, c.JS.Runtime.ToValue(opt.get(&standard)))
		return c.changed(opt, "has been reset to its default value")
	})
	s.JS.Help.Property(o, s.configHelp)
	s.JS.World.SetPrinter(o, func() string {
		m, err := s.JS.Runtime.New(s.JS.Runtime.GlobalObject().Get("Map"))
		if err != nil {
			return ""
		}
		set, _ := goja.AssertFunction(m.Get("set"))
		for _, opt := range allOptions() {
			if _, err := set(m, s.JS.Runtime.ToValue(opt.name), s.JS.Runtime.ToValue(opt.get(&s.settings))); err != nil {
				return ""
			}
		}
		return s.display.Inspect(m)
	})
	return o
}

func (s *Shell) configHelp() string {
	return s.JS.Out.HelpTable("Config Class", [][2]string{
		{"config", "Shows all settings."},
		{"config.get(key)", "Returns the value of a setting."},
		{"config.set(key, value)", "Changes a setting; one made at a prompt lasts."},
		{"config.reset(key)", "Gives a setting its default value."},
		{"displayBatchSize", "How many documents a page has."},
		{"maxTimeMS", "How long the server may work on a read or command."},
		{"inspectDepth, inspectCompact", "How deep values are shown, and how closely."},
		{"showStackTraces", "Whether errors show where they come from."},
		{"historyLength", "How many inputs are kept."},
		{"redactHistory", "\"remove\" keeps no input with a password, \"remove-redact\" no addresses either, " +
			"\"keep\" keeps all."},
		{"editor", "The program that edit opens, before $VISUAL and $EDITOR."},
		{"pager", "The program that shows results taller than the screen, before $PAGER and less; false for none."},
		{"disableSchemaSampling", "Whether completion may not read documents for names of fields."},
		{"loadMongoshrc", "Whether ~/.mongoshrc.js is run where there is no ~/.shardshrc.js."},
	})
}

// changed keeps a setting and says so.
func (c *call) changed(opt *option, how string) goja.Value {
	text := "Setting \"" + opt.name + "\" " + how
	if c.s.settings.set == nil {
		c.s.settings.set = make(map[string]bool)
	}
	c.s.settings.set[opt.name] = true
	if err := c.s.keepSetting(opt); err != nil {
		text += " for this session only: " + err.Error()
	}
	return c.JS.Runtime.ToValue(text)
}

// newDBQuery makes DBQuery, whose shellBatchSize is a setting today.
func (s *Shell) newDBQuery() goja.Value {
	o := s.classStub("DBQuery", s.cursorPrototype()).(*goja.Object)
	notice := func() {
		s.JS.Out.Deprecate("DBQuery.shellBatchSize is deprecated, please use config.set(\"displayBatchSize\") instead")
	}
	get := s.JS.Runtime.ToValue(func(goja.FunctionCall) goja.Value {
		notice()
		return s.JS.Runtime.ToValue(s.settings.displayBatchSize)
	})
	set := s.JS.Runtime.ToValue(func(fc goja.FunctionCall) goja.Value {
		notice()
		optionNamed("displayBatchSize").set(&s.settings, fc.Argument(0))
		return goja.Undefined()
	})
	script.Must(o.DefineAccessorProperty("shellBatchSize", get, set, goja.FLAG_TRUE, goja.FLAG_TRUE))
	return o
}

// LoadsMongoshRC reports whether mongosh's rc file is to be run where there is
// none of our own (rules/04-command-line-and-prompt §2.11).
func (s *Shell) LoadsMongoshRC() bool { return s.settings.loadMongoshrc }
