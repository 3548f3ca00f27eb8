export { memberPictureRoutes } from './routes.ts';
export { MemberPictures } from './service.ts';
