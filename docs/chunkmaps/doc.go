// Package chunkmaps has the pictures of docs/how-balancing-works.md: chunks of mock
// clusters before, while and after the balancer works on them. Its test plays each scene
// and holds the files to what it draws. To make them again, and then look at them:
//
//	go test ./docs/chunkmaps -update
package chunkmaps
