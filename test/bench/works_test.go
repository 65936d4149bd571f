//go:build unix

package bench

import "testing"

// work is a line of the table.
type work struct {
	name string
	// shardsh and mongosh prepare it, and return what does it once. mongosh is nil for
	// what it can't do.
	shardsh, mongosh func(b *testing.B) func() cost
	// inMemory says that its figure for the baseline is its memory, not its time.
	inMemory bool
}

// scripts are the works in JavaScript: what is done before, and the work.
var scripts = []struct{ name, before, work string }{
	{"insertMany 100,000 in thousands", `db.filled.drop()`, fill("filled", 100_000)},
	{"find().forEach 100,000, one field", `let sum = 0`, `db.docs.find().forEach(d => { sum += d.n })`},
	{"toArray 100,000", ``, `db.docs.find().toArray().length`},
	{"while hasNext/next 100,000", `const c = db.docs.find()`, `while (c.hasNext()) c.next()`},
	{"insertOne × 2,000", `db.ones.drop()`,
		`for (let i = 0; i < 2000; i++) db.ones.insertOne({ _id: i, name: "customer " + i })`},
	{"findOne × 2,000", ``, `for (let i = 0; i < 2000; i++) db.docs.findOne({ _id: i })`},
	{"EJSON.stringify 20,000", `const docs = db.docs.find().limit(20000).toArray(); let length = 0`,
		`for (const d of docs) length += EJSON.stringify(d).length`},
	{"loop of 5 million", `let x = 0`, `for (let i = 0; i < 5000000; i++) x += i`},
	{"30,000 appends to a string", `let s = ""`, `for (let i = 0; i < 30000; i++) s += "a line of text "; s.length`},
	{"30,000 parts joined", `const parts = []`,
		`for (let i = 0; i < 30000; i++) parts.push("a line of text "); parts.join("").length`},
	{"5,000 keys, 300,000 updates", `const o = {}`,
		`for (let i = 0; i < 300000; i++) { const k = "key" + i % 5000; o[k] = (o[k] || 0) + 1 }`},
}

// works returns all of them.
func works(s *shells) []work {
	list := []work{
		s.inBoth("start, --nodb --eval 1", func(b *testing.B, shell string) cost {
			took, _ := s.run(b, shell, "--nodb", "--eval", "1")
			return took
		}),
		{name: "memory of a start with the mock", inMemory: true, shardsh: func(b *testing.B) func() cost {
			return func() cost { took, _ := s.run(b, s.shardsh, "--eval", "db.getName(); "+peakScript); return took }
		}},
	}
	for _, sc := range scripts {
		list = append(list, s.inBoth(sc.name, func(b *testing.B, shell string) cost {
			return s.script(b, shell, sc.before, sc.work)
		}))
	}
	return append(list, engineWorks()...)
}

// inBoth is a work for shardsh, and for mongosh if that is there.
func (s *shells) inBoth(name string, once func(b *testing.B, shell string) cost) work {
	of := func(shell string) func(b *testing.B) func() cost {
		return func(b *testing.B) func() cost { return func() cost { return once(b, shell) } }
	}
	w := work{name: name, shardsh: of(s.shardsh)}
	if s.mongosh != "" {
		w.mongosh = of(s.mongosh)
	}
	return w
}
