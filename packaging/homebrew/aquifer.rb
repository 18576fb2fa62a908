# `cargo xtask dist` fills in the release and writes the formula to target/dist/packages.
class Aquifer < Formula
  desc "Put MCP servers, HTTP APIs, SQLite and PostgreSQL databases behind MCP-AQL"
  homepage "https://github.com/aquifer-mcp/aquifer"
  # RELEASE
  license any_of: ["MIT", "Apache-2.0"]
  head "https://github.com/aquifer-mcp/aquifer.git", branch: "main"

  depends_on "rust" => :build

  def install
    system "cargo", "install", *std_cargo_args(path: "crates/aquifer")
    generate_completions_from_executable(bin/"aquifer", "completions")
  end

  service do
    run [opt_bin/"aquifer", "serve", etc/"aquifer/aquifer.toml"]
    keep_alive successful_exit: false
    log_path var/"log/aquifer.log"
    error_log_path var/"log/aquifer.log"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/aquifer -V")
    answer = shell_output("#{bin}/aquifer call demo: get_tag '{\"id\": 1}'")
    assert_match "\"success\":true", answer
  end
end
