package bindings

import (
	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/bindings/server"
	"shardsh/bindings/sh"
)

// newHelpers makes what is behind sh.
func (s *Shell) newHelpers() *sh.Host {
	return &sh.Host{
		JS: s.JS, Display: s.display, Gateway: s.gateway, Compat: s.cfg.Compat,
		MaxTimeMS: func() int64 { return s.settings.maxTimeMS },
		DB: func() *server.Database {
			if s.db == nil {
				return nil
			}
			return s.db.Database
		},
		Objects: shardingObjects{s}, Sandbox: s.cfg.Sandbox,
	}
}

// shardingObjects makes the objects that sh returns.
type shardingObjects struct{ s *Shell }

// Database returns the object of a sibling of db.
func (o shardingObjects) Database(d *server.Database) goja.Value {
	return o.s.db.sibling(d.Name).object
}

// Cursor returns the object of a cursor; start sends its command.
func (o shardingObjects) Cursor(d *server.Database, command bson.D) (object goja.Value, start func()) {
	of := o.s.db.sibling(d.Name)
	switch command[0].Key {
	case "find":
		cur := o.s.newCursor(of, kindFind, command)
		cur.collection, _ = command[0].Value.(string)
		return cur.object, func() { cur.hasNext() }
	case "aggregate":
		cur := o.s.newCursor(of, kindAggregate, command)
		return cur.object, func() { cur.hasNext() }
	}
	cur := o.s.newCursor(of, kindCommand, command)
	cur.reads = false
	return cur.object, cur.open
}

// Update sends an update of one statement.
func (o shardingObjects) Update(d *server.Database, collection string, statement,
	writeConcern bson.Raw) (*goja.Object, int64) {
	ops := []writeOp{{kind: updateKind, doc: statement}}
	w := o.s.db.sibling(d.Name).collection(collection).write(ops, writeOptions{writeConcern: writeConcern})
	o.s.throwFailures(w, ops, false)
	return o.s.updateResult(w), w.matched
}
