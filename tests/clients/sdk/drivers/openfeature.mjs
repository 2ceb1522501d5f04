// Evaluate flags with a client of OpenFeature.
const methods = {
  boolean: 'getBooleanDetails',
  string: 'getStringDetails',
  number: 'getNumberDetails',
  object: 'getObjectDetails',
};

// context: for servers. Browsers have one context at a time.
export async function details(client, flag, fallback, ...context) {
  const found = await client[methods[typeof fallback]](flag, fallback, ...context);
  return { value: found.value, variant: found.variant, reason: found.reason, error: found.errorCode ?? null };
}
