package values

import (
	"strconv"

	"github.com/dop251/goja"
)

// marks are symbols on objects from a server, with facts that JavaScript cannot express.
type marks struct {
	rt *goja.Runtime
	js *intrinsics

	fromServer *goja.Symbol // on documents that came out of BSON
	original   *goja.Symbol // on dates and regular expressions that JavaScript cannot hold exactly
}

// markFromServer notes on an object from a server that display limits do not apply to
// it (rules/04-values-and-language §3.6, fix). Only objects that a limit could touch get the note:
// it costs as much as two fields.
func (m *marks) markFromServer(o *goja.Object, ext displayExtent, level int) {
	if ext.long || ext.height > 2 || level == 0 && ext.height > 1 {
		must(o.DefineDataPropertySymbol(m.fromServer, m.rt.ToValue(true), goja.FLAG_FALSE, goja.FLAG_TRUE, goja.FLAG_FALSE))
	}
}

// isFromServer reports whether display limits do not apply to an object.
func (m *marks) isFromServer(o *goja.Object) bool {
	if isProxy(o) {
		return false
	}
	v := o.GetSymbol(m.fromServer)
	return v != nil && v.ToBoolean()
}

// maxDate is the number of milliseconds from 1970 that a Date can hold, either
// way.
const maxDate = 8_640_000_000_000_000

// newDate makes a Date. One that JavaScript cannot hold becomes an
// invalid Date that keeps its BSON value, so that it is written back unchanged.
func (m *marks) newDate(ms int64) goja.Value {
	if ms >= -maxDate && ms <= maxDate {
		return m.js.newDate(m.rt.ToValue(ms))
	}
	o := m.js.newDate(goja.NaN())
	must(o.DefineDataPropertySymbol(m.original, m.rt.ToValue(strconv.FormatInt(ms, 10)), goja.FLAG_FALSE, goja.FLAG_FALSE,
		goja.FLAG_FALSE))
	return o
}

// originalDate returns what an invalid Date remembers of its BSON value.
func (m *marks) originalDate(o *goja.Object) (ms int64, ok bool) {
	v := o.GetSymbol(m.original)
	if v == nil {
		return 0, false
	}
	ms, err := strconv.ParseInt(v.String(), 10, 64)
	return ms, err == nil
}
