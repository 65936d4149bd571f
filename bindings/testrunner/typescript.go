package testrunner

import _ "embed"

// TypeScriptDefinitions are the words of tests, for editors that know TypeScript.
//
//go:embed types.d.ts
var TypeScriptDefinitions string
