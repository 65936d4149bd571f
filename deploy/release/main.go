// Command release builds the parts of a release other than archives: a container image as an OCI
// layout, without a daemon, and the recipes of package managers. .ci/release runs it.
//
//	release image --binary linux/amd64=FILE… --version X --created SECONDS --out DIR
//	release recipes --sums SHA256SUMS --version X --url https://… --out DIR
package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/pflag"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// run executes the command line.
func run(args []string) error {
	if len(args) == 0 {
		return errors.New("say image or recipes")
	}
	f := pflag.NewFlagSet(args[0], pflag.ContinueOnError)
	version := f.String("version", "", "`X.Y.Z` of the release")
	out := f.String("out", "", "`DIR` to write to")
	binaries := f.StringToString("binary", nil, "`SYSTEM/ARCHITECTURE=FILE` a static program; repeat to add")
	created := f.Int64("created", 0, "`SECONDS` since 1970, the time of the commit")
	sums := f.String("sums", "", "`FILE` with the checksums of the archives")
	url := f.String("url", "", "`URL` of the folder where the archives will be")
	if err := f.Parse(args[1:]); err != nil {
		return err
	}
	if *version == "" || *out == "" {
		return errors.New("--version and --out are required")
	}
	switch args[0] {
	case "image":
		return writeImage(*out, *binaries, *version, time.Unix(*created, 0).UTC())
	case "recipes":
		return writeRecipes(*out, *sums, *version, *url)
	}
	return fmt.Errorf("%q is neither image nor recipes", args[0])
}
