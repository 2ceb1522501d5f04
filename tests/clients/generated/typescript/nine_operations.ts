// Call the nine operations with the client that @hey-api/openapi-ts generated, and print a JSON object with a fact of each answer.
// The test compiles this program beside the folder `client`, and gives its input as JSON in the first argument.

import { client } from './client/client.gen';
import {
  deleteStrategy,
  getInsights,
  getProjectAccess,
  getProjectOverview,
  logIn,
  searchEvents,
  searchEventsDeprecated,
  signUp,
  updateSignupToken,
} from './client';

declare const process: { argv: string[] };

const given: Record<string, string> = JSON.parse(process.argv[2]);
const path = { projectId: given.project };
const place = { ...path, featureName: given.flag, environment: given.environment, strategyId: given.strategy };
const login = { username: given.username, password: given.password };
client.setConfig({ auth: (auth) => (auth.in === 'cookie' ? undefined : given.apiToken), baseUrl: given.url, throwOnError: true });

async function main(): Promise<void> {
  const token = await updateSignupToken<true>({ path: { token: given.signupToken }, body: { expiresAt: '2040-01-01T00:00:00Z' } });
  const user = await signUp<true>({ path: { token: given.signupToken }, body: { ...login, email: given.email, name: 'Ada' } });
  const loggedIn = await logIn<true>({ body: login });
  const insights = await getInsights<true>({ query: { from: '2026-01-05', to: '2026-01-11' } });
  const overview = await getProjectOverview<true>({ path });
  const access = await getProjectAccess<true>({ path });
  const deletion = await deleteStrategy<true>({ path: place });
  const search = await searchEvents<true>({ query: { feature: `IS:${given.flag}`, limit: 1 } });
  const found = await searchEventsDeprecated<true>({ body: { feature: given.flag, type: 'feature-strategy-remove' } });
  const [newest] = search.data.events;
  console.log(
    JSON.stringify({
      updateSignupToken: [token.data.enabled, new Date(token.data.expiresAt).getUTCFullYear()],
      signUp: user.data.email,
      logIn: loggedIn.data.username,
      getInsights: insights.data.userTrends.map((trend) => new Date(trend.date).getUTCFullYear()),
      getProjectOverview: [overview.data.name, overview.data.version],
      getProjectAccess: access.data.roles.map((role) => role.name).sort(),
      deleteStrategy: deletion.response.ok,
      searchEvents: [newest.type, !Number.isNaN(Date.parse(newest.createdAt))],
      searchEventsDeprecated: [found.data.version, found.data.events[0].featureName],
    }),
  );
}

void main();
