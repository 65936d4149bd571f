package node

import (
	"github.com/dop251/goja"

	"shardsh/bindings/script"
)

// newStructuredClone returns structuredClone for values that BSON can represent. It makes a deep copy
// of other plain containers.
func (s *Globals) newStructuredClone() goja.Value {
	return s.newFunction("structuredClone", func(c *call) goja.Value {
		return c.s.clone(c.Arg(0),
			map[*goja.Object]*goja.Object{})
	})
}

func (s *Globals) clone(v goja.Value, seen map[*goja.Object]*goja.Object) goja.Value {
	o, ok := v.(*goja.Object)
	if !ok {
		return v
	}
	if copied := seen[o]; copied != nil {
		return copied
	}
	if class := script.CollectionClass(s.JS.Runtime, o); class != nil {
		fresh, err := s.JS.Runtime.New(class, s.clone(script.Spread(s.JS.Runtime, o), seen))
		s.JS.Check(err)
		return fresh
	}
	var copied *goja.Object
	switch o.ClassName() {
	case "Array":
		copied = s.JS.Runtime.NewArray()
	case "Date":
		fresh, err := s.JS.Runtime.New(s.JS.Runtime.GlobalObject().Get("Date"), o.ToNumber())
		s.JS.Check(err)
		return fresh
	case "Object":
		if o.Get("_bsontype") != nil { // immutable values
			return o
		}
		copied = s.JS.Runtime.NewObject()
	case "Function":
		s.JS.Throw("DataCloneError", "a function could not be cloned")
	default:
		return o
	}
	seen[o] = copied
	for _, k := range o.Keys() {
		script.Must(copied.Set(k, s.clone(o.Get(k), seen)))
	}
	return copied
}
