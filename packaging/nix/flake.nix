# nix run "github:aquifer-mcp/aquifer?dir=packaging/nix" -- demo
{
  description = "MCP servers, HTTP APIs, SQLite and PostgreSQL databases behind MCP-AQL";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs =
    { self, nixpkgs }:
    let
      systems = [
        "x86_64-linux"
        "aarch64-linux"
        "aarch64-darwin"
      ];
      forAllSystems = nixpkgs.lib.genAttrs systems;
    in
    {
      packages = forAllSystems (system: {
        default = nixpkgs.legacyPackages.${system}.callPackage ./package.nix {
          commit = self.rev or "unknown";
        };
      });
      apps = forAllSystems (system: {
        default = {
          type = "app";
          program = "${self.packages.${system}.default}/bin/aquifer";
        };
      });
    };
}
