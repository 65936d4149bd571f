// Package failpoint implements the mongos fail points that drivers' tests use. A fail point defines
// which commands fail, how, and how often.
package failpoint
