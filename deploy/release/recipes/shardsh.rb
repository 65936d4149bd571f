# For a tap of Homebrew: brew install NAME/tap/shardsh.
class Shardsh < Formula
  desc "Shell for sharded MongoDB clusters, with a mock cluster inside"
  homepage "{{ .URL }}"
  version "{{ .Version }}"
  license "Apache-2.0"

  on_macos do
    on_arm do
      url "{{ .Archive "darwin" "arm64" }}"
      sha256 "{{ .Sum "darwin" "arm64" }}"
    end
    on_intel do
      url "{{ .Archive "darwin" "amd64" }}"
      sha256 "{{ .Sum "darwin" "amd64" }}"
    end
  end

  on_linux do
    on_arm do
      url "{{ .Archive "linux" "arm64" }}"
      sha256 "{{ .Sum "linux" "arm64" }}"
    end
    on_intel do
      url "{{ .Archive "linux" "amd64" }}"
      sha256 "{{ .Sum "linux" "amd64" }}"
    end
  end

  def install
    bin.install "shardsh"
    man1.install "shardsh.1"
    bash_completion.install "shardsh.bash" => "shardsh"
    zsh_completion.install "shardsh.zsh" => "_shardsh"
    fish_completion.install "shardsh.fish"
  end

  test do
    assert_equal "42\n", shell_output("#{bin}/shardsh --nodb --eval '6 * 7'")
  end
end
