package settings

import (
	"github.com/dop251/goja"

	"shardsh/bindings/script"
)

// object is the object config: the settings for scripts.
type object struct {
	js      *script.Engine
	inspect func(v goja.Value) string
	values  *Values
}

// Object returns the object config. Its methods return messages rather than throw
// (rules/04-command-line-and-prompt §2.10).
func Object(js *script.Engine, inspect func(v goja.Value) string, values *Values) goja.Value {
	s := &object{js, inspect, values}
	o := s.js.Runtime.NewObject()
	add := func(name, signature, help string, f func(c *script.Call) goja.Value) {
		params := script.ParseSignature(signature)
		fn := s.js.NewFunction(name, func(c *script.Call) goja.Value {
			c.Check("config."+name, params)
			return f(c)
		})
		s.js.Help.Describe(fn, script.Help{CallForm: script.CallForm(name, signature), Class: Class, Text: help})
		script.Define(o, name, fn)
	}
	unknown := func(name string) goja.Value {
		return s.js.Runtime.ToValue("Option \"" + name + "\" is not available in this environment")
	}
	add("get", "key:string", "Returns the value of a setting.", func(c *script.Call) goja.Value {
		if opt := optionNamed(c.Text(0)); opt != nil {
			return c.JS.Runtime.ToValue(opt.get(s.values))
		}
		return nil
	})
	add("set", "key:string value:any", "Changes a setting.", func(c *script.Call) goja.Value {
		name := c.Text(0)
		opt := optionNamed(name)
		if opt == nil {
			return unknown(name)
		}
		if wrong := opt.set(s.values, c.Arg(1)); wrong != "" {
			return c.JS.Runtime.ToValue("Cannot set option \"" + name + "\": " + wrong)
		}
		return s.saveAndReport(c, opt, "has been changed")
	})
	add("reset", "key:string", "Gives a setting its default value.", func(c *script.Call) goja.Value {
		name := c.Text(0)
		opt := optionNamed(name)
		if opt == nil {
			return unknown(name)
		}
		standard := Default()
		opt.set(s.values, c.JS.Runtime.ToValue(opt.get(standard)))
		return s.saveAndReport(c, opt, "has been reset to its default value")
	})
	s.js.Help.DefineHelp(o, s.help)
	s.js.Values.SetPrinter(o, func() string {
		m, err := s.js.Runtime.New(s.js.Runtime.GlobalObject().Get("Map"))
		if err != nil {
			return ""
		}
		set, _ := goja.AssertFunction(m.Get("set"))
		for _, opt := range allOptions() {
			if _, err := set(m, s.js.Runtime.ToValue(opt.name), s.js.Runtime.ToValue(opt.get(s.values))); err != nil {
				return ""
			}
		}
		return s.inspect(m)
	})
	return o
}

func (o *object) help() string {
	return o.js.Out.HelpTable("Config Class", [][2]string{
		{"config", "Shows all settings."},
		{"config.get(key)", "Returns the value of a setting."},
		{"config.set(key, value)", "Changes a setting; a change at a prompt is kept."},
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

// saveAndReport saves a setting and reports the change.
func (o *object) saveAndReport(c *script.Call, opt *option, how string) goja.Value {
	text := "Setting \"" + opt.name + "\" " + how
	if o.values.changedByScript == nil {
		o.values.changedByScript = make(map[string]bool)
	}
	o.values.changedByScript[opt.name] = true
	if err := o.values.saveSetting(opt); err != nil {
		text += " for this session only: " + err.Error()
	}
	return c.JS.Runtime.ToValue(text)
}
