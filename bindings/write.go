package bindings

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/bindings/rawdoc"
)

// writeKind is one of the three commands that write.
type writeKind uint8

const (
	insertKind writeKind = iota
	updateKind
	deleteKind
)

var writeCommands = [...]struct{ name, list string }{
	insertKind: {"insert", "documents"},
	updateKind: {"update", "updates"},
	deleteKind: {"delete", "deletes"},
}

// writeOp is one document, update statement or delete statement.
type writeOp struct {
	kind  writeKind
	doc   bson.Raw
	index int  // in the script's own list
	many  bool // touches more than one document, so it is never sent again
}

// writeOptions are what a whole batch of writes has in common.
type writeOptions struct {
	unordered    bool
	writeConcern bson.Raw // nil for the connection's
	extra        bson.D   // fields that go into each command: let, comment, …
}

// Limits of one command, which are the server's: operations,
// and bytes of the document that carries them.
const (
	maxBatchOps   = 100_000
	maxBatchBytes = 16_000_000
)

// writeResult adds up the replies of the commands that a list of operations
// took.
type writeResult struct {
	inserted, matched, modified, deleted int64
	upserted                             []upsert
	failures                             []writeFailure
	concern                              bson.Raw // writeConcernError
	reply                                bson.Raw // that had it
	unacknowledged                       bool
	unordered                            bool
}

type upsert struct {
	index int
	id    bson.RawValue
}

type writeFailure struct {
	raw   bson.Raw
	index int
	op    writeOp
}

func (w *writeResult) failed(index int) bool {
	return slices.ContainsFunc(w.failures, func(f writeFailure) bool { return f.index == index })
}

// write sends operations: consecutive ones of a kind together when ordered, all
// of a kind together when not (rules/04-objects §6.3). It throws only what stopped a
// command as a whole; write errors are in the result.
func (coll *collection) write(ops []writeOp, opts writeOptions) *writeResult {
	result := &writeResult{unordered: opts.unordered}
	concern := opts.writeConcern
	if concern == nil {
		concern = coll.concern()
	}
	if coll.d.inTransaction() {
		concern = nil
	}
	if w, err := concern.LookupErr("w"); err == nil {
		n, isNumber := w.AsInt64OK()
		result.unacknowledged = isNumber && n == 0
	}
	if opts.unordered {
		ops = slices.Clone(ops)
		slices.SortStableFunc(ops, func(a, b writeOp) int { return int(a.kind) - int(b.kind) })
	}
	for len(ops) > 0 {
		n := batchLength(ops)
		coll.writeBatch(ops[:n], opts, concern, result)
		if len(result.failures) > 0 && !opts.unordered {
			break
		}
		ops = ops[n:]
	}
	return result
}

// batchLength returns how many of the first operations fit in one command.
func batchLength(ops []writeOp) int {
	bytes := 0
	for i, op := range ops {
		bytes += len(op.doc) + 16 // type, array index and terminator
		if i > 0 && (op.kind != ops[0].kind || i == maxBatchOps || bytes > maxBatchBytes) {
			return i
		}
	}
	return len(ops)
}

func (coll *collection) writeBatch(ops []writeOp, opts writeOptions, concern bson.Raw, result *writeResult) {
	cmd := writeCommands[ops[0].kind]
	list := rawdoc.List(len(ops), func(i int) bson.Raw { return ops[i].doc })
	once := !slices.ContainsFunc(ops, func(op writeOp) bool { return op.many })
	body := bson.D{{Key: cmd.name, Value: coll.name}, {Key: cmd.list, Value: list},
		{Key: "ordered", Value: !opts.unordered}}
	body = append(body, opts.extra...)
	if concern != nil {
		body = append(body, bson.E{Key: "writeConcern", Value: concern})
	}
	r := coll.d.Request(body)
	send := coll.s.gateway.Send
	if once && !result.unacknowledged {
		send = coll.s.gateway.SendRetryable
	}
	reply, err := send(r)
	if err != nil {
		coll.s.gateway.Throw(err)
	}
	result.add(reply, ops)
}

// add takes in the reply to one command.
func (w *writeResult) add(reply bson.Raw, ops []writeOp) {
	n := rawdoc.Int(reply, "n")
	var upserted int64
	if list, ok := reply.Lookup("upserted").ArrayOK(); ok {
		values, _ := list.Values()
		for _, v := range values {
			doc, _ := v.DocumentOK()
			upserted++
			if i := int(rawdoc.Int(doc, "index")); i >= 0 && i < len(ops) {
				w.upserted = append(w.upserted, upsert{index: ops[i].index, id: doc.Lookup("_id")})
			}
		}
	}
	switch ops[0].kind {
	case insertKind:
		w.inserted += n
	case updateKind:
		w.matched += n - upserted
		w.modified += rawdoc.Int(reply, "nModified")
	case deleteKind:
		w.deleted += n
	}
	if list, ok := reply.Lookup("writeErrors").ArrayOK(); ok {
		values, _ := list.Values()
		for _, v := range values {
			doc, _ := v.DocumentOK()
			i := int(rawdoc.Int(doc, "index"))
			if i < 0 || i >= len(ops) {
				i = 0
			}
			w.failures = append(w.failures, writeFailure{raw: doc, index: ops[i].index, op: ops[i]})
		}
	}
	if doc, ok := reply.Lookup("writeConcernError").DocumentOK(); ok && w.concern == nil {
		w.concern, w.reply = doc, reply
	}
}
