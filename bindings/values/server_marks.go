package values

import (
	"strconv"

	"github.com/dop251/goja"
)

// marks are symbols for objects from a server, with data that JavaScript cannot represent.
type marks struct {
	rt         *goja.Runtime
	intrinsics *intrinsics

	fromServer *goja.Symbol // on documents that were decoded from BSON
	original   *goja.Symbol // on dates and regular expressions that JavaScript cannot represent exactly
}

// markFromServer marks an object from a server, to which display limits do not apply
// (rules/04-values-and-language §3.6, fix). It marks only objects that a limit could affect, because a
// mark takes as much memory as two fields.
func (m *marks) markFromServer(o *goja.Object, ext displayExtent, level int) {
	if ext.long || ext.height > 2 || level == 0 && ext.height > 1 {
		must(o.DefineDataPropertySymbol(m.fromServer, m.rt.ToValue(true), goja.FLAG_FALSE, goja.FLAG_TRUE, goja.FLAG_FALSE))
	}
}

// isFromServer reports whether display limits do not apply to an object.
func (m *marks) isFromServer(o *goja.Object) bool { return isMarked(o, m.fromServer) }

// maxDateMillis is the maximum distance of a Date from 1970 in milliseconds.
const maxDateMillis = 8_640_000_000_000_000

// newDate returns a Date. A date that JavaScript cannot represent becomes an invalid Date with its BSON
// value, so that it is written back unchanged.
func (m *marks) newDate(ms int64) goja.Value {
	if ms >= -maxDateMillis && ms <= maxDateMillis {
		return m.intrinsics.newDate(m.rt.ToValue(ms))
	}
	o := m.intrinsics.newDate(goja.NaN())
	must(o.DefineDataPropertySymbol(m.original, m.rt.ToValue(strconv.FormatInt(ms, 10)), goja.FLAG_FALSE, goja.FLAG_FALSE,
		goja.FLAG_FALSE))
	return o
}

// originalDate returns the BSON value of an invalid Date.
func (m *marks) originalDate(o *goja.Object) (ms int64, ok bool) {
	v := o.GetSymbol(m.original)
	if v == nil {
		return 0, false
	}
	ms, err := strconv.ParseInt(v.String(), 10, 64)
	return ms, err == nil
}
