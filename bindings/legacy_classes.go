package bindings

import (
	"github.com/dop251/goja"

	"shardsh/bindings/script"
)

// legacyClasses() are the classes of the old shell: instanceof works, and a
// method a script puts on their prototypes is there on every object.
func (s *Shell) legacyClasses() map[string]func() goja.Value {
	return map[string]func() goja.Value{
		"DB": func() goja.Value {
			return s.classOf("DB", "mongo:object name:string", s.databasePrototype(), func(c *call) *goja.Object {
				return c.mongoArgument("DB", 0).checkedDatabase(c.Text(1)).object
			})
		},
		"DBCollection": func() goja.Value {
			return s.classOf("DBCollection", "mongo:object db:object name:string fullName?:string", s.collectionPrototype(),
				func(c *call) *goja.Object {
					d, ok := script.Receiver[*database](c.Arg(1))
					if !ok {
						c.ThrowArgument("DBCollection", "db", "a database", script.TypeOf(c.Arg(1)))
					}
					return d.checkedCollection(c.Text(2)).object
				})
		},
		"DBCommandCursor": func() goja.Value { return s.classStub("DBCommandCursor", s.cursorPrototype()) },
		"BulkWriteResult": func() goja.Value { return s.classStub("BulkWriteResult", s.resultPrototype()) },
		"WriteResult":     func() goja.Value { return s.classStub("WriteResult", s.resultPrototype()) },
		"WriteError":      func() goja.Value { return s.classStub("WriteError", s.namedPrototype("WriteError")) },
		"BulkWriteError": func() goja.Value {
			return s.classStub("BulkWriteError", s.JS.World.Errors.New("MongoBulkWriteError", "").Prototype())
		},
		"WriteCommandError": func() goja.Value {
			return s.classStub("WriteCommandError", s.JS.World.Errors.New("MongoServerError", "").Prototype())
		},
		"ErrorCodes":       s.newErrorCodes,
		"ErrorCodeStrings": s.newErrorCodeStrings,
	}
}

// mongoArgument returns an argument that must be a connection.
func (c *call) mongoArgument(label string, i int) *mongoObject {
	m, ok := script.Receiver[*mongoObject](c.Arg(i))
	if !ok {
		c.ThrowArgument(label, "mongo", "a connection, such as db.getMongo()", script.TypeOf(c.Arg(i)))
	}
	return m
}

// classOf returns a global class that scripts make objects of.
func (s *Shell) classOf(name, signature string, proto *goja.Object, build func(c *call) *goja.Object) goja.Value {
	params := script.ParseSignature(signature)
	return s.newClass(name, proto, func(args []goja.Value) *goja.Object {
		c := &call{&script.Call{JS: s.JS, Args: args}, s}
		c.Check(name, params)
		return build(c)
	})
}

// classStub returns a global class without a use of its own: instanceof and
// patched prototypes work (rules/04-values-and-language §4.11).
func (s *Shell) classStub(name string, proto *goja.Object) goja.Value {
	return s.newClass(name, proto, func([]goja.Value) *goja.Object {
		s.JS.ThrowType("%s cannot be constructed", name)
		return nil
	})
}

func (s *Shell) newClass(name string, proto *goja.Object, build func(args []goja.Value) *goja.Object) goja.Value {
	ctor := s.JS.Runtime.ToValue(func(cc goja.ConstructorCall) *goja.Object {
		defer s.JS.ContainFaults()
		return build(cc.Arguments)
	}).(*goja.Object)
	script.Must(ctor.DefineDataProperty("name", s.JS.Runtime.ToValue(name), goja.FLAG_FALSE, goja.FLAG_TRUE,
		goja.FLAG_FALSE))
	script.Must(ctor.Set("prototype", proto))
	return ctor
}
