// A certified OpenID provider: node identity_provider.mjs NODE_MODULES ISSUER REDIRECT_URI. It accepts all names and passwords.
const [modules, issuer, redirectUri] = process.argv.slice(2);
const { default: Provider } = await import(`${modules}/oidc-provider/lib/index.js`);
const provider = new Provider(issuer, {
  clients: [
    {
      client_id: "flags",
      client_secret: "a secret of the client",
      redirect_uris: [redirectUri],
      post_logout_redirect_uris: [redirectUri.replace("auth/oidc/callback", "login")],
    },
  ],
  claims: { email: ["email", "email_verified"], profile: ["name"], openid: ["sub", "groups"] },
  findAccount: (_, sub) => ({
    accountId: sub,
    claims: () => ({ sub, email: `${sub}@example.org`, email_verified: true, name: "Grace Hopper", groups: ["flags"] }),
  }),
});
provider.listen(Number(new URL(issuer).port), "127.0.0.1");
