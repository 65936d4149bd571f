package values

import (
	"slices"
	"strconv"
	"strings"

	"github.com/dop251/goja"
)

// allOwnKeys returns the names of all own properties of an object, except the items of an array.
func (in *inspector) allOwnKeys(o *goja.Object) []string {
	names := o.GetOwnPropertyNames()
	switch {
	case o.ClassName() == "Array", o.ClassName() == "String", isTypedArray(o):
		names = slices.DeleteFunc(names, isIndex)
	}
	return names
}

func isIndex(key string) bool {
	n, err := strconv.ParseUint(key, 10, 32)
	return err == nil && strconv.FormatUint(n, 10) == key
}

// ownSymbols returns an object's own symbols, except those of this package, which scripts cannot refer
// to.
func (in *inspector) ownSymbols(o *goja.Object) []*goja.Symbol {
	own := []*goja.Symbol{in.realm.marks.fromServer, in.realm.printers.text, in.realm.printers.oneLine,
		in.realm.marks.original,
		in.realm.fields.order}
	list, err := in.realm.intrinsics.ownSymbols(nil, o)
	if err != nil {
		panic(err)
	}
	var symbols []*goja.Symbol
	in.realm.rt.ForOf(list, func(v goja.Value) bool {
		if s, ok := v.(*goja.Symbol); ok && !slices.Contains(own, s) {
			symbols = append(symbols, s)
		}
		return true
	})
	return symbols
}

// enumerable reports whether an own property is enumerable.
func (in *inspector) enumerable(o *goja.Object, key goja.Value) bool {
	descriptor, ok := in.descriptor(o, key)
	return ok && descriptor.Get("enumerable").ToBoolean()
}

// sort sorts the texts of entries.
func (in *inspector) sort(entries []string) {
	if in.o.Compare == nil {
		slices.SortStableFunc(entries, strings.Compare)
		return
	}
	slices.SortStableFunc(entries, func(a, b string) int {
		v, err := in.o.Compare(in.realm.rt.ToValue(a), in.realm.rt.ToValue(b))
		if err != nil {
			panic(err)
		}
		switch f := v.ToFloat(); {
		case f < 0:
			return -1
		case f > 0:
			return 1
		}
		return 0
	})
}
