// Package chunkmaps holds the pictures of docs/how-balancing-works.md: chunks of mock clusters before,
// during and after balancing. Its test runs each scene and compares the files with its drawings. To
// draw them again (check the result afterwards):
//
//	go test ./docs/chunkmaps -update
package chunkmaps
