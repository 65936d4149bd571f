package values

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/dop251/goja"
)

// makeISODate returns the function ISODate([x]), which returns a plain Date and parses strictly.
func (w *Realm) makeISODate() goja.Value {
	isoDate := func(args []goja.Value) goja.Value {
		v := arg(args, 0)
		switch {
		case goja.IsUndefined(v):
			return w.intrinsics.newDate(w.rt.ToValue(w.opts.Now().UnixMilli()))
		case isString(v):
			t, ok := parseISODate(v.String())
			if !ok {
				w.Errors.throwInput(fmt.Sprintf("%s is not a valid ISODate", quoteJSON(v.String())))
			}
			return w.intrinsics.newDate(w.rt.ToValue(t.UnixMilli()))
		default:
			return w.intrinsics.newDate(v)
		}
	}
	f := w.rt.ToValue(func(call goja.ConstructorCall) *goja.Object {
		return isoDate(call.Arguments).(*goja.Object)
	}).(*goja.Object)
	must(f.DefineDataProperty("name", w.rt.ToValue("ISODate"), goja.FLAG_FALSE, goja.FLAG_TRUE, goja.FLAG_FALSE))
	must(f.DefineDataProperty("prototype", w.intrinsics.dateProto, goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_FALSE))
	defineHidden(f, "now", w.newFunction("now", func(goja.FunctionCall) goja.Value {
		return w.rt.ToValue(w.opts.Now().UnixMilli())
	}))
	return f
}

var isoPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(\d{4})-?(\d{2})-?(\d{2})(?:[T ` +
		`](\d{2})(?::?(\d{2})(?::?(\d{2})(?:\.(\d+))?)?)?(Z|[+-]\d{2}(?::?\d{2})?)?)?$`)
})

// parseISODate parses the argument of ISODate. Without a zone, the time is UTC. It rejects days that do
// not exist in the month (rules/04-values-and-language §4.7, fixes).
func parseISODate(s string) (time.Time, bool) {
	m := isoPattern().FindStringSubmatch(s)
	if m == nil {
		return time.Time{}, false
	}
	n := func(i int) int {
		v, _ := strconv.Atoi(m[i])
		return v
	}
	millis, _ := strconv.Atoi((m[7] + "000")[:3])
	year, month, day, hour, minute, second := n(1), n(2), n(3), n(4), n(5), n(6)
	if month < 1 || month > 12 || day < 1 || minute > 59 || second > 59 || hour > 24 {
		return time.Time{}, false
	}
	if hour == 24 && (minute != 0 || second != 0 || millis != 0) {
		return time.Time{}, false
	}
	t := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	if t.Day() != day {
		return time.Time{}, false
	}
	offset, ok := zoneOffset(m[8])
	if !ok {
		return time.Time{}, false
	}
	t = t.Add(time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute +
		time.Duration(second)*time.Second + time.Duration(millis)*time.Millisecond)
	return t.Add(-offset), true
}

func zoneOffset(zone string) (time.Duration, bool) {
	if zone == "" || zone == "Z" {
		return 0, true
	}
	digits := strings.ReplaceAll(zone[1:], ":", "") + "00"
	hours, _ := strconv.Atoi(digits[:2])
	minutes, _ := strconv.Atoi(digits[2:4])
	if hours > 23 || minutes > 59 {
		return 0, false
	}
	offset := time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute
	if zone[0] == '-' {
		offset = -offset
	}
	return offset, true
}

// makeBSONSize returns the function bsonsize(doc), which returns the size of doc in BSON.
func (w *Realm) makeBSONSize() goja.Value {
	return w.newFunction("bsonsize", func(call goja.FunctionCall) goja.Value {
		v := call.Argument(0)
		callee{w, "bsonsize"}.checkTypes(call.Arguments, []string{"object"})
		if goja.IsNull(v) {
			w.Errors.throwType("Cannot convert undefined or null to object")
		}
		doc, err := w.DocFromJS(v)
		if err != nil {
			panic(err)
		}
		return w.rt.ToValue(len(doc))
	})
}
