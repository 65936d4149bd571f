package testrunner

import _ "embed"

// Types are the words of tests, for editors that know TypeScript.
//
//go:embed types.d.ts
var Types string
