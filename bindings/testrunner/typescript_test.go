package testrunner_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/evanw/esbuild/pkg/api"

	"shardsh/bindings/testrunner"
)

// The types for editors are TypeScript.
func TestTypesCanBeRead(t *testing.T) {
	node, err := os.ReadFile("../../clients/node/shardsh.d.mts")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"types.d.ts": testrunner.TypeScriptDefinitions, "shardsh.d.mts": string(node)} {
		if r := api.Transform(text, api.TransformOptions{Loader: api.LoaderTS}); len(r.Errors) > 0 {
			t.Errorf("%s: %+v", name, r.Errors)
		}
	}
}

// What editors are told of is what tests have, all of it.
func TestTypes(t *testing.T) {
	r := run(t, map[string]string{"t_test.js": `
it("a", () => {
  print(Object.getOwnPropertyNames(Object.getPrototypeOf(Object.getPrototypeOf(expect(1)))).join())
  print(Object.getOwnPropertyNames(expect).join())
  print(["describe", "it", "test", "before", "beforeAll", "after", "afterAll", "beforeEach", "afterEach", "run",
    "cluster", "expect"].filter(name => name in globalThis).join())
  print(Object.getOwnPropertyNames(cluster).join())
})`}, testrunner.Options{})
	names := regexp.MustCompile(`[\w]+`).FindAllString(r.Files[0].Tests[0].Output, -1)
	for _, name := range names {
		switch name {
		case "help", "name", "length", "prototype", "constructor":
			continue
		}
		if !regexp.MustCompile(`(?m)(^|[ {(])(declare const |declare function )?` + name + `\??[(:]`).MatchString(testrunner.TypeScriptDefinitions) {
			t.Errorf("%s is not in types.d.ts", name)
		}
	}
	if len(names) < 50 || !strings.Contains(strings.Join(names, " "), "toBeBalanced") {
		t.Errorf("only %d names: %v", len(names), names)
	}
}
