# nix-build -E '(import <nixpkgs> { }).callPackage ./packaging/nix/package.nix { }'
# Needs a nixpkgs whose Rust is at least the rust-version in Cargo.toml.
{
  lib,
  rustPlatform,
  installShellFiles,
  commit ? "unknown",
}:

rustPlatform.buildRustPackage {
  pname = "aquifer";
  version = "0.1.0";

  src = lib.cleanSource ../..;
  cargoLock.lockFile = ../../Cargo.lock;

  buildAndTestSubdir = "crates/aquifer";
  buildType = "release";
  # The tests start servers and use the network.
  doCheck = false;

  env.AQUIFER_COMMIT = commit;

  nativeBuildInputs = [ installShellFiles ];

  postInstall = ''
    installShellCompletion --cmd aquifer \
      --bash <($out/bin/aquifer completions bash) \
      --fish <($out/bin/aquifer completions fish) \
      --zsh <($out/bin/aquifer completions zsh)
  '';

  doInstallCheck = true;
  installCheckPhase = ''
    $out/bin/aquifer -V | grep --quiet "$version"
  '';

  meta = {
    description = "MCP servers, HTTP APIs, SQLite and PostgreSQL databases behind MCP-AQL";
    homepage = "https://github.com/aquifer-mcp/aquifer";
    license = with lib.licenses; [
      mit
      asl20
    ];
    mainProgram = "aquifer";
    platforms = lib.platforms.unix;
  };
}
