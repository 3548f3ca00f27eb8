/** Tells electron-builder to install and copy no packages: what the app needs is bundled. */
export default function noNodeModules(): Promise<boolean> {
  return Promise.resolve(false);
}
