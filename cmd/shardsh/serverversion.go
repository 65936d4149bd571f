package main

import "shardsh/balancer/catalog"

// serverVersion is the release that the mock behaves like; unset it is the
// present one.
type serverVersion struct {
	release catalog.Release
	given   bool
}

func (v *serverVersion) String() string { return v.release.String() }
func (v *serverVersion) Type() string   { return "VERSION" }

func (v *serverVersion) Set(text string) (err error) {
	v.release, err = catalog.ParseRelease(text)
	v.given = err == nil
	return err
}
