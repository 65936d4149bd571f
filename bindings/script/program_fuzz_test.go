package script

import (
	"testing"

	"github.com/dop251/goja/unistring"
)

func FuzzParseProgram(f *testing.F) {
	for _, seed := range []string{"let a = 1", "use x\nshow dbs", "await f()", "return 1", "class A {}\nclass A {}", "const {a, b: [c]} = d", "#!x\n1", "`\nuse x\n`", "exit"} {
		f.Add(seed)
	}
	f.Fuzz(func(_ *testing.T, text string) {
		p, err := parseProgram("fuzz", text)
		Incomplete(text)
		if err != nil {
			return
		}
		p.expandBareCommands(func(string) bool { return true })
		p.makeCommandsPrint(true)
		_, _ = p.compile()
		p.takenNames = map[unistring.String]bool{"taken": true}
		_, _ = p.compile()
		for _, part := range p.statementPrograms() {
			_ = showsValue(part)
		}
	})
}
