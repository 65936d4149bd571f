package main

import (
	_ "time/tzdata" // windows name time zones, which not every machine knows

	"github.com/spf13/pflag"

	"shardsh/balancer/pace"
	"shardsh/cmd/shardsh/cmdline"
)

func addDiskLimitFlag(f *pflag.FlagSet, limit *float64) {
	cmdline.ParsedVar(f, limit, "disk-limit", "`85%` move nothing to a shard whose volume would be fuller",
		pace.ParseShare)
}

func addWindowFlag(f *pflag.FlagSet, w **pace.Window, about string) {
	cmdline.ParsedVar(f, w, "window", "`22:00-06:00 [ZONE]` "+about, func(text string) (*pace.Window, error) {
		return pace.ParseWindow(text, pace.LocalLocation())
	})
}
