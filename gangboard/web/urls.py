"""The addresses of the pages."""

from django.urls import path

from gangboard.web import sign_in
from gangboard.web.single_sign_on import views as single_sign_on

urlpatterns = [
    path("sign-in/", sign_in.SignInView.as_view(), name="sign-in"),
    path("sign-in/link/", sign_in.use_link, name="sign-in-link-use"),
    path("sign-in/link/<str:secret>/", sign_in.follow_link, name="sign-in-link"),
    path("sign-in/provider/", single_sign_on.begin, name="sign-in-provider"),
    path("sign-in/provider/callback/", single_sign_on.finish, name="sign-in-provider-callback"),
    path("sign-out/", sign_in.SignOutView.as_view(), name="sign-out"),
]
